import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.pinot.client.ConnectionFactory;
import org.apache.pinot.client.JsonAsyncHttpPinotClientTransportFactory;
import org.apache.pinot.client.PinotDriver;
import org.apache.pinot.client.ResultSetGroup;

/**
 * Asks Pinot through the gateway with the Java client and over JDBC. Arguments: host, port, access key and secret key of a service token,
 * then SQL texts. Prints one line for each way and text: `way<TAB>first value` or `way<TAB>! error`.
 */
public class Ask {
  public static void main(String[] arguments) throws Exception {
    String host = arguments[0];
    String port = arguments[1];
    String basic = "Basic " + java.util.Base64.getEncoder().encodeToString((arguments[2] + ":" + arguments[3]).getBytes());
    for (int index = 4; index < arguments.length; index++) {
      String sql = arguments[index];
      report("broker", () -> direct(host + ":" + port, basic, sql));
      report("jdbc", () -> jdbc(host + ":" + port, basic, sql));
    }
    System.exit(0);
  }

  static void report(String way, java.util.concurrent.Callable<String> call) {
    String line;
    try {
      line = call.call();
    } catch (Throwable error) {
      Throwable cause = error;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      line = "! " + String.valueOf(cause).replaceAll("\\s+", " ");
    }
    System.out.println(way + "\t" + line);
  }

  static String direct(String broker, String basic, String sql) {
    JsonAsyncHttpPinotClientTransportFactory transport = new JsonAsyncHttpPinotClientTransportFactory();
    transport.setHeaders(Map.of("Authorization", basic));
    org.apache.pinot.client.Connection connection =
        ConnectionFactory.fromHostList(List.of(broker), transport.buildTransport());
    ResultSetGroup group = connection.execute(sql);
    return group.getResultSet(0).getString(0, 0);
  }

  static String jdbc(String address, String basic, String sql) throws Exception {
    DriverManager.registerDriver(new PinotDriver());
    Properties properties = new Properties();
    properties.setProperty("headers.Authorization", basic);
    try (Connection connection = DriverManager.getConnection("jdbc:pinot://" + address, properties)) {
      ResultSet rows = connection.createStatement().executeQuery(sql);
      rows.next();
      return rows.getString(1);
    }
  }
}
