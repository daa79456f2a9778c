import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.calcite.config.*;
import org.apache.calcite.jdbc.*;
import org.apache.calcite.plan.*;
import org.apache.calcite.plan.hep.*;
import org.apache.calcite.prepare.CalciteCatalogReader;
import org.apache.calcite.rel.*;
import org.apache.calcite.rel.core.Aggregate;
import org.apache.calcite.rel.core.Filter;
import org.apache.calcite.rel.core.Project;
import org.apache.calcite.rel.core.TableScan;
import org.apache.calcite.rel.type.*;
import org.apache.calcite.rex.*;
import org.apache.calcite.schema.TransientTable;
import org.apache.calcite.schema.impl.*;
import org.apache.calcite.sql.*;
import org.apache.calcite.sql.fun.*;
import org.apache.calcite.sql.type.*;
import org.apache.calcite.sql.util.SqlBasicVisitor;
import org.apache.calcite.sql.validate.*;
import org.apache.calcite.sql2rel.*;
import org.apache.pinot.sql.parsers.*;

/**
 * The tables that the engine's planner would scan: Pinot's parser, then Calcite's validator and converter with the settings of Pinot's planner, which is
 * not published for each version. The catalog is in `Catalog`. stdin: one text a line, as `<1 if names are compared by case, else 0> <database, - for none> <text in base64>`.
 * stdout: one line of JSON each, its strings in base64: {"error":…} or {"tables":[…],"scans":[…],"columns":[…],"plan":…}. A scan is a table and what is
 * above it up to the root of its query, with the conditions of filters and the expressions of projections, joined by ` < `. The plan is empty if the text validates but
 * cannot be converted; its tables are then those that the validator found. Tables have their database, and `lookup:` in front if the servers look them up.
 * The plan of a query within a string follows that of its text.
 */
public class Planner {
  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = in.readLine()) != null; ) {
      String[] fields = line.split(" ");
      out.println(answer(fields[0].equals("1"), fields[1], new String(Base64.getDecoder().decode(fields[2]), StandardCharsets.UTF_8)));
      if (!in.ready()) out.flush();
    }
    out.flush();
  }

  static String answer(boolean byCase, String database, String sql) {
    try {
      Found found = new Found(byCase, database);
      found.plan(sql);
      return "{\"tables\":" + list(found.tables) + ",\"scans\":" + list(found.scans) + ",\"columns\":" + list(found.columns) + ",\"plan\":" + text(found.plan.toString()) + "}";
    } catch (LinkageError defect) {
      throw defect;
    } catch (Throwable refused) {
      Throwable cause = refused;
      while (cause.getCause() != null && cause.getCause() != cause) cause = cause.getCause();
      return "{\"error\":" + text(String.valueOf(cause)) + "}";
    }
  }

  static String text(String text) {
    return "\"" + Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8)) + "\"";
  }

  static String list(Collection<String> texts) {
    StringJoiner joined = new StringJoiner(",", "[", "]");
    for (String one : texts) joined.add(text(one));
    return joined.toString();
  }

  /** Two databases with the same tables. Columns have the names of tables, too. */
  static class Catalog {
    static final String[] DATABASES = {"default", "sales"};
    static final String[] TABLES = {"customers", "orders", "secret", "types", "t", "u", "customers_OFFLINE"};
    static final String[] INTEGERS = {"id", "a", "b", "customers", "orders", "secret", "t"};
    static final CalciteSchema ROOT = CalciteSchema.createRootSchema(false, false, "");

    static {
      for (String database : DATABASES) {
        CalciteSchema schema = ROOT.add(database, new AbstractSchema());
        for (String table : TABLES) schema.add(table, new Columns());
      }
    }

    static class Columns extends AbstractTable {
      public RelDataType getRowType(RelDataTypeFactory types) {
        RelDataTypeFactory.Builder columns = types.builder();
        for (String name : INTEGERS) columns.add(name, SqlTypeName.INTEGER);
        return columns.add("name", SqlTypeName.VARCHAR, 20).add("arr", types.createArrayType(types.createSqlType(SqlTypeName.INTEGER), -1)).build();
      }
    }
  }

  /** Calcite's functions, Pinot's aggregations, and any other name as a function of any arguments: what a function returns does not change which tables are scanned. */
  static class Functions implements SqlOperatorTable {
    static final Set<String> AGGREGATIONS = Set.of("distinctcount", "distinct_count", "distinctcounthll", "percentile", "mode", "minmaxrange", "summv", "distinctsum");

    public void lookupOperatorOverloads(SqlIdentifier name, SqlFunctionCategory category, SqlSyntax syntax, List<SqlOperator> found, SqlNameMatcher matcher) {
      int before = found.size();
      SqlStdOperatorTable.instance().lookupOperatorOverloads(name, category, syntax, found, matcher);
      boolean table = category != null && category.isTableFunction();
      if (found.size() > before || syntax != SqlSyntax.FUNCTION || table || !name.isSimple()) return;
      found.add(function(name.getSimple()));
    }

    static SqlOperator function(String name) {
      if (AGGREGATIONS.contains(name.toLowerCase(Locale.ROOT))) return SqlBasicAggFunction.create(name, SqlKind.OTHER_FUNCTION, ReturnTypes.INTEGER, OperandTypes.VARIADIC);
      return new SqlFunction(name, SqlKind.OTHER_FUNCTION, ReturnTypes.INTEGER, null, OperandTypes.VARIADIC, SqlFunctionCategory.USER_DEFINED_FUNCTION);
    }

    public List<SqlOperator> getOperatorList() {
      return SqlStdOperatorTable.instance().getOperatorList();
    }
  }

  /** What the plan of a text reads, its texts within strings included. */
  static class Found {
    final Set<String> tables = new TreeSet<>();
    final Set<String> scans = new TreeSet<>();
    List<String> columns = List.of();
    final StringBuilder plan = new StringBuilder();
    final boolean byCase;
    /** Of the request; `-` for none. */
    final String database;

    Found(boolean byCase, String database) {
      this.byCase = byCase;
      this.database = database;
    }

    void plan(String sql) throws Exception {
      Found within = new Found(byCase, database);
      List<String> queries = within.named(parse(sql).getSqlNode());
      try {
        convert(sql, true);
      } catch (Exception | AssertionError unknown) {
        convertOtherwise(sql);
      }
      tables.addAll(within.tables);
      // Only their plans must be equal.
      String own = plan.toString();
      for (String query : queries) own = own.replace(escaped(query), "query").replace("'" + query.replace("'", "''") + "'", "query");
      // Tables have a database in front. A name alone is that of a recursive common table expression, which the printer replaces.
      own = own.replaceAll("table=\\[\\[[^,\\]]*\\]\\]", "table=[[recursive]]");
      plan.setLength(0);
      plan.append(own).append(within.plan);
    }

    /** A string with letters beyond ASCII, as the plans of older versions print it. */
    static String escaped(String text) {
      StringBuilder escaped = new StringBuilder("u&'");
      for (char unit : text.replace("'", "''").replace("\\", "\\\\").toCharArray()) escaped.append(unit < 128 ? String.valueOf(unit) : String.format("\\%04x", (int) unit));
      return escaped.append("'").toString();
    }

    /** Some versions can convert a subquery in only one of these two ways, and validate some texts that they cannot convert. */
    void convertOtherwise(String sql) throws Exception {
      try {
        convert(sql, false);
      } catch (Exception | AssertionError refused) {
        new Step(this, sql).validated();
      }
    }

    void convert(String sql, boolean expand) throws Exception {
      RelRoot root = new Step(this, sql).converted(expand);
      scanned(root.rel);
      columns = root.validatedRowType.getFieldNames();
      plan.append(RelOptUtil.toString(root.rel)).append('\n');
    }

    static SqlNodeAndOptions parse(String sql) throws Exception {
      return CalciteSqlParser.compileToSqlNodeAndOptions(sql);
    }

    /** As in the multi-stage engine: of the request, else of the option. */
    String databaseOf(SqlNodeAndOptions parsed) {
      if (!database.equals("-")) return database;
      for (Map.Entry<String, String> option : parsed.getOptions().entrySet()) if (option.getKey().equalsIgnoreCase("database")) return option.getValue();
      return "default";
    }

    void scanned(RelNode root) {
      new RelVisitor() {
        final Deque<String> above = new ArrayDeque<>();

        @Override
        public void visit(RelNode node, int ordinal, RelNode parent) {
          // A recursive common table expression is scanned as a table without storage.
          if (node instanceof TableScan && node.getTable().unwrap(TransientTable.class) == null) {
            String table = String.join(".", node.getTable().getQualifiedName());
            tables.add(table);
            scans.add(table + " < " + String.join(" < ", above));
          }
          node.accept(new RexShuttle() {
            @Override
            public RexNode visitSubQuery(RexSubQuery query) {
              scanned(query.rel);
              return super.visitSubQuery(query);
            }
          });
          above.push(shown(node));
          super.visit(node, ordinal, parent);
          above.pop();
        }
      }.go(root);
    }

    static String shown(RelNode node) {
      if (node instanceof Filter) return "Filter(" + ((Filter) node).getCondition() + ")";
      if (node instanceof Project) return "Project(" + ((Project) node).getProjects() + ")";
      return node instanceof Aggregate && countsOnly((Aggregate) node) ? "Count" : node.getRelTypeName();
    }

    /** Whether it reads no column, so that no projection is below it. */
    static boolean countsOnly(Aggregate node) {
      return node.getGroupSet().isEmpty() && node.getAggCallList().stream().allMatch(call -> call.getArgList().isEmpty() && call.filterArg < 0);
    }

    /** Functions that take a table or a query as text, by their names as the engine compares them. @return the queries */
    List<String> named(SqlNode root) {
      List<String> queries = new ArrayList<>();
      root.accept(new SqlBasicVisitor<Void>() {
        @Override
        public Void visit(SqlCall call) {
          String name = call.getOperator().getName().replace("_", "").toLowerCase(Locale.ROOT);
          if (name.equals("lookup")) tables.add("lookup:" + literal(call, 0));
          if (name.equals("insubquery") || name.equals("inpartitionedsubquery")) queries.add(literal(call, 1));
          return super.visit(call);
        }
      });
      for (String query : queries) within(query);
      return queries;
    }

    void within(String sql) {
      try {
        plan(sql);
      } catch (Exception refused) {
        throw new IllegalArgumentException("a query within a string: " + refused.getMessage(), refused);
      }
    }

    static String literal(SqlCall call, int index) {
      if (call.operandCount() > index && call.operand(index) instanceof SqlCharStringLiteral) return ((SqlCharStringLiteral) call.operand(index)).toValue();
      throw new IllegalArgumentException("`" + call.getOperator().getName() + "` without a string");
    }
  }

  /** One attempt to plan one text. */
  static class Step {
    final Found found;
    final CalciteCatalogReader catalog;
    final SqlValidator validator;
    final SqlNode node;

    Step(Found found, String sql) throws Exception {
      this.found = found;
      SqlNodeAndOptions parsed = Found.parse(sql);
      SqlNode query = parsed.getSqlNode() instanceof SqlExplain ? ((SqlExplain) parsed.getSqlNode()).getExplicandum() : parsed.getSqlNode();
      JavaTypeFactoryImpl types = new JavaTypeFactoryImpl();
      Properties settings = new Properties();
      settings.setProperty("caseSensitive", String.valueOf(found.byCase));
      catalog = new CalciteCatalogReader(Catalog.ROOT, List.of(found.databaseOf(parsed)), types, new CalciteConnectionConfigImpl(settings));
      SqlValidator.Config config = SqlValidator.Config.DEFAULT.withIdentifierExpansion(true).withSqlConformance(SqlConformanceEnum.LENIENT);
      validator = SqlValidatorUtil.newValidator(new Functions(), catalog, types, config);
      node = validator.validate(query);
      if (!node.getKind().belongsTo(SqlKind.QUERY)) throw new IllegalArgumentException("not a query: " + node.getKind());
    }

    RelRoot converted(boolean expand) {
      RelOptPlanner planner = new HepPlanner(new HepProgramBuilder().build());
      RelOptCluster cluster = RelOptCluster.create(planner, new RexBuilder(catalog.getTypeFactory()));
      // Without simplification a plan scans also what constant conditions leave out.
      SqlToRelConverter.Config config = SqlToRelConverter.config().withExpand(expand).withInSubQueryThreshold(Integer.MAX_VALUE)
          .addRelBuilderConfigTransform(builder -> builder.withSimplify(false).withSimplifyValues(false).withSimplifyLimit(false));
      return new SqlToRelConverter((type, query, schema, view) -> null, validator, catalog, cluster, StandardConvertletTable.INSTANCE, config).convertQuery(node, false, true);
    }

    /** The tables of all names in FROM, as the validator resolved them. */
    void validated() {
      node.accept(new SqlBasicVisitor<Void>() {
        @Override
        public Void visit(SqlIdentifier name) {
          SqlValidatorNamespace namespace = validator.getNamespace(name);
          SqlValidatorTable table = namespace == null ? null : namespace.getTable();
          if (table != null) found.tables.add(String.join(".", table.getQualifiedName()));
          return null;
        }
      });
      found.columns = validator.getValidatedNodeType(node).getFieldNames();
    }
  }
}
