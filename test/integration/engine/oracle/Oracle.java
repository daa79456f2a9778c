import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.calcite.sql.*;
import org.apache.calcite.sql.parser.SqlAbstractParserImpl;
import org.apache.pinot.common.request.PinotQuery;
import org.apache.pinot.sql.parsers.*;
import org.apache.pinot.sql.parsers.parser.SqlParserImpl;

/**
 * Pinot's own reading of SQL texts. stdin: one text a line, in base64. stdout: one line of JSON each, its strings in base64:
 * {"error":…} or {"tree":…,"tables":[…],"options":[[key,value],…],"limit":n}. With the argument `words`: the keywords of the grammar.
 * Two texts mean the same to the engine when their trees are equal.
 */
public class Oracle {
  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
    if (args.length > 0) words(out);
    else texts(out);
    out.flush();
  }

  static void words(PrintStream out) throws Exception {
    SqlAbstractParserImpl.Metadata metadata = SqlParserImpl.FACTORY.getParser(new StringReader("")).getMetadata();
    for (String token : new TreeSet<>(metadata.getTokens())) if (metadata.isKeyword(token)) out.println(token);
  }

  static void texts(PrintStream out) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = in.readLine()) != null; ) {
      String sql = new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8);
      out.println(read(sql));
      if (!in.ready()) out.flush();
    }
  }

  static String read(String sql) {
    try {
      Found found = new Found();
      SqlNodeAndOptions parsed = found.parse(sql);
      long limit = -1;
      String tree = parsed.getSqlNode() + " ## " + new TreeMap<>(parsed.getOptions());
      try {
        PinotQuery query = CalciteSqlParser.compileToPinotQuery(parsed);
        tree += " ## " + query;
        limit = query.getLimit();
      } catch (LinkageError defect) {
        throw defect;
      } catch (Throwable multiStageOnly) {
        tree += " ## multi-stage only";
      }
      return "{\"tree\":" + text(tree) + ",\"tables\":" + list(found.tables) + ",\"options\":" + list(found.options) + ",\"limit\":" + limit + "}";
    } catch (LinkageError defect) {
      throw defect;
    } catch (Throwable refused) {
      return "{\"error\":" + text(String.valueOf(refused.getCause() == null ? refused : refused.getCause())) + "}";
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

  /** What a text names, its texts within strings included. */
  static class Found {
    final Set<String> tables = new TreeSet<>();
    /** `key=value` */
    final Set<String> options = new TreeSet<>();

    SqlNodeAndOptions parse(String sql) {
      SqlNodeAndOptions parsed = CalciteSqlParser.compileToSqlNodeAndOptions(sql);
      parsed.getOptions().forEach((key, value) -> options.add(key + "=" + value));
      walk(parsed.getSqlNode(), parsed.getSqlNode() instanceof SqlDescribeTable, new HashSet<>());
      return parsed;
    }

    /** @param table whether the node is in the place of a table */
    void walk(SqlNode node, boolean table, Set<String> hidden) {
      if (node == null) return;
      if (node instanceof SqlIdentifier) identifier((SqlIdentifier) node, table, hidden);
      else if (node instanceof SqlWith) with((SqlWith) node, hidden);
      else if (node instanceof SqlSelect) select((SqlSelect) node, hidden);
      else if (node instanceof SqlJoin) {
        SqlJoin join = (SqlJoin) node;
        walk(join.getLeft(), true, hidden);
        walk(join.getRight(), true, hidden);
        for (int i = 0; i < join.operandCount(); i++) if (join.operand(i) != join.getLeft() && join.operand(i) != join.getRight()) walk(join.operand(i), false, hidden);
      } else if (node instanceof SqlNodeList) for (SqlNode each : (SqlNodeList) node) walk(each, false, hidden);
      else if (node instanceof SqlCall) call((SqlCall) node, table, hidden);
    }

    void identifier(SqlIdentifier name, boolean table, Set<String> hidden) {
      if (table && !(name.names.size() == 1 && hidden.contains(name.names.get(0)))) tables.add(name.toString());
    }

    void with(SqlWith with, Set<String> outer) {
      Set<String> hidden = new HashSet<>(outer);
      for (SqlNode each : with.withList) {
        SqlWithItem item = (SqlWithItem) each;
        walk(item.query, false, hidden);
        hidden.add(item.name.getSimple());
      }
      walk(with.body, false, hidden);
    }

    void select(SqlSelect select, Set<String> hidden) {
      for (int i = 0; i < select.operandCount(); i++) {
        SqlNode operand = select.getOperandList().get(i);
        walk(operand, operand != null && operand == select.getFrom(), hidden);
      }
    }

    static final Set<SqlKind> AROUND_TABLES = EnumSet.of(SqlKind.AS, SqlKind.LATERAL, SqlKind.EXTEND, SqlKind.TABLESAMPLE, SqlKind.TABLE_REF,
        SqlKind.SNAPSHOT, SqlKind.OVER, SqlKind.PIVOT, SqlKind.UNPIVOT, SqlKind.MATCH_RECOGNIZE, SqlKind.EXPLICIT_TABLE, SqlKind.DESCRIBE_TABLE);
    static final Set<SqlKind> NO_TABLES = EnumSet.of(SqlKind.UNNEST, SqlKind.ORDER_BY, SqlKind.UNION, SqlKind.INTERSECT, SqlKind.EXCEPT, SqlKind.VALUES);

    void call(SqlCall call, boolean table, Set<String> hidden) {
      SqlKind kind = call.getKind();
      List<SqlNode> operands = call.getOperandList();
      if (kind == SqlKind.EXPLICIT_TABLE || (table && AROUND_TABLES.contains(kind))) {
        for (int i = 0; i < operands.size(); i++) walk(operands.get(i), i == 0, hidden);
        return;
      }
      if (table && !NO_TABLES.contains(kind)) tables.add("?" + kind);
      named(call.getOperator().getName(), operands);
      for (SqlNode operand : operands) walk(operand, false, hidden);
    }

    /** Functions that take a table or a query as text, by their names as the engine compares them. */
    void named(String function, List<SqlNode> operands) {
      String name = function.replace("_", "").toLowerCase();
      if (name.equals("groovy")) tables.add("?GROOVY");
      if (name.equals("lookup")) tables.add(operands.isEmpty() ? "?LOOKUP" : "lookup:" + literal(operands.get(0)));
      if (name.equals("insubquery") || name.equals("inpartitionedsubquery")) {
        if (operands.size() < 2 || !(operands.get(1) instanceof SqlCharStringLiteral)) tables.add("?IN_SUBQUERY");
        else parse(literal(operands.get(1)));
      }
    }

    static String literal(SqlNode node) {
      return node instanceof SqlCharStringLiteral ? ((SqlCharStringLiteral) node).toValue() : "?" + node;
    }
  }
}
