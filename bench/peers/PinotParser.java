import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.apache.pinot.common.request.PinotQuery;
import org.apache.pinot.sql.parsers.CalciteSqlParser;

/**
 * Pinot's own parser in a warm JVM. Arguments: rounds to warm up, rounds to measure. stdin: one SQL text a line, in base64. stdout: the table of each
 * text, a line each, and then a line with the median CPU time of a round in nanoseconds.
 */
public final class PinotParser {
  public static void main(String[] arguments) throws Exception {
    List<String> texts = new ArrayList<>();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    for (String line; (line = in.readLine()) != null;) {
      texts.add(new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8));
    }
    for (String text : texts) System.out.println(parse(text).getDataSource().getTableName());
    for (int round = 0; round < Integer.parseInt(arguments[0]); round++) for (String text : texts) parse(text);
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long[] times = new long[Integer.parseInt(arguments[1])];
    for (int round = 0; round < times.length; round++) {
      long before = threads.getCurrentThreadCpuTime();
      for (String text : texts) parse(text);
      times[round] = threads.getCurrentThreadCpuTime() - before;
    }
    Arrays.sort(times);
    System.out.println(times[times.length / 2]);
  }

  static PinotQuery parse(String text) throws Exception {
    return CalciteSqlParser.compileToPinotQuery(CalciteSqlParser.compileToSqlNodeAndOptions(text));
  }
}
