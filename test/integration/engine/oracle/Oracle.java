import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.calcite.sql.*;
import org.apache.calcite.sql.util.SqlBasicVisitor;
import org.apache.pinot.sql.parsers.CalciteSqlParser;
import org.apache.pinot.sql.parsers.SqlNodeAndOptions;
/** stdin: one base64 text a line; stdout: E or space separated base64 names. */
public class Oracle {
  public static void main(String[] a) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
    for (String line; (line = in.readLine()) != null;) {
      String sql = new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8);
      Set<String> t = new TreeSet<>();
      try {
        SqlNodeAndOptions n = CalciteSqlParser.compileToSqlNodeAndOptions(sql);
        from(n.getSqlNode(), t, false, new HashSet<>());
        StringBuilder b = new StringBuilder("T");
        for (String s : t) b.append(' ').append(Base64.getEncoder().encodeToString(s.getBytes(StandardCharsets.UTF_8)));
        out.println(b);
      } catch (Throwable e) { String m = String.valueOf(e.getCause() == null ? e : e.getCause()); out.println("E " + m.replaceAll("\\s+", " ").substring(0, Math.min(200, m.replaceAll("\\s+", " ").length()))); }
    }
    out.flush();
  }
  static void from(SqlNode n, Set<String> t, boolean table, Set<String> ctes) {
    if (n == null) return;
    if (n instanceof SqlIdentifier) { SqlIdentifier i = (SqlIdentifier) n; if (table && !(i.names.size() == 1 && ctes.contains(i.names.get(0)))) t.add(i.toString()); return; }
    if (n instanceof SqlWith) { SqlWith w = (SqlWith) n; Set<String> c = new HashSet<>(ctes);
      for (SqlNode x : w.withList) { SqlWithItem it = (SqlWithItem) x; from(it.query, t, false, c); c.add(it.name.getSimple()); }
      from(w.body, t, false, c); return; }
    if (n instanceof SqlSelect) { SqlSelect s = (SqlSelect) n; from(s.getFrom(), t, true, ctes);
      for (SqlNode x : Arrays.asList(s.getSelectList(), s.getWhere(), s.getGroup(), s.getHaving(), s.getWindowList(), s.getOrderList(), s.getOffset(), s.getFetch())) from(x, t, false, ctes); return; }
    if (n instanceof SqlJoin) { SqlJoin j = (SqlJoin) n; from(j.getLeft(), t, true, ctes); from(j.getRight(), t, true, ctes); from(j.getCondition(), t, false, ctes); return; }
    if (n instanceof SqlNodeList) { for (SqlNode x : (SqlNodeList) n) from(x, t, false, ctes); return; }
    if (n instanceof SqlCall) { SqlCall c = (SqlCall) n; SqlKind k = c.getKind();
      if (table && (k == SqlKind.AS || k == SqlKind.LATERAL || k == SqlKind.EXTEND || k == SqlKind.TABLESAMPLE || k == SqlKind.TABLE_REF || k == SqlKind.SNAPSHOT || k == SqlKind.OVER || k == SqlKind.PIVOT || k == SqlKind.UNPIVOT || k == SqlKind.MATCH_RECOGNIZE)) {
        boolean first = true; for (SqlNode x : c.getOperandList()) { from(x, t, first, ctes); first = false; } return; }
      if (k == SqlKind.EXPLICIT_TABLE) { from(c.getOperandList().get(0), t, true, ctes); return; }
      if (table && k != SqlKind.UNNEST && !(n instanceof SqlOrderBy) && k != SqlKind.UNION && k != SqlKind.INTERSECT && k != SqlKind.EXCEPT && k != SqlKind.VALUES) t.add("?" + k);
      for (SqlNode x : c.getOperandList()) from(x, t, false, ctes);
    }
  }
}
