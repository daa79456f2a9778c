import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import kafka.server.KafkaConfig;
import kafka.server.KafkaServer;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Time;
import org.apache.pinot.broker.broker.helix.HelixBrokerStarter;
import org.apache.pinot.controller.ControllerStarter;
import org.apache.pinot.minion.MinionStarter;
import org.apache.pinot.server.starter.helix.HelixServerStarter;
import org.apache.pinot.spi.env.PinotConfiguration;
import org.apache.pinot.spi.services.ServiceStartable;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import scala.Option;

/**
 * A whole Apache Pinot in one JVM: ZooKeeper, a controller, brokers, servers and, when asked for, a minion and Kafka.
 *
 * <pre>Cluster DIRECTORY [--brokers N] [--servers N] [--controller|--broker|--server key=value]…</pre>
 *
 * State is stored in DIRECTORY, the ports in DIRECTORY/ports.json: a second start continues the same cluster, because the names of Pinot
 * instances contain their ports. Stdout has one JSON object per line ({@code progress}, {@code ready}, {@code done}, {@code failed}), stdin one
 * command per line (see {@link #execute}), processed in order. The JVM exits on SIGTERM and when stdin closes, so that it never outlives its parent.
 *
 * All ports listen on 127.0.0.1, except the servers' query ports, for which Pinot has no such setting.
 */
public final class Cluster {
  private static final String HOST = "127.0.0.1";
  private static final String NAME = "pinot";
  private static final long STOP_LIMIT_MS = 8_000;
  private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS);

  private final PrintStream answers;
  private final Path directory;
  private final Map<String, Integer> ports;
  private final Map<String, Map<String, String>> extra;
  private final ServiceStartable[] brokers;
  private final ServiceStartable[] servers;
  private final List<ServiceStartable> otherControllers = new ArrayList<>();
  private ServiceStartable controller;
  private ServiceStartable minion;
  private KafkaServer kafka;

  private Cluster(Options options, PrintStream answers) throws Exception {
    this.answers = answers;
    this.directory = options.directory;
    this.extra = options.extra;
    this.brokers = new ServiceStartable[options.brokers];
    this.servers = new ServiceStartable[options.servers];
    this.ports = Ports.of(options);
  }

  public static void main(String[] arguments) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err);
    BlockingQueue<String> commands = readCommands();
    long started = System.currentTimeMillis();
    try {
      Cluster cluster = new Cluster(Options.parse(arguments), answers);
      Runtime.getRuntime().addShutdownHook(new Thread(cluster::stop));
      cluster.start(started);
      for (;;) {
        cluster.answer(commands.take());
      }
    } catch (Throwable error) {
      error.printStackTrace();
      answers.println(JSON.writeValueAsString(Map.of("event", "failed", "command", "start", "error", reason(error))));
      answers.flush();
      Runtime.getRuntime().halt(1);
    }
  }

  /** Reads stdin in a separate thread, to notice the exit of the parent also during the start and during long commands. */
  private static BlockingQueue<String> readCommands() {
    BlockingQueue<String> commands = new LinkedBlockingQueue<>();
    Thread reader = new Thread(() -> {
      try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
          commands.add(line.trim());
        }
      } catch (Exception closed) {
        // Handled like the end of the stream.
      }
      System.exit(0);
    }, "commands");
    reader.setDaemon(true);
    reader.start();
    return commands;
  }

  private void start(long started) throws Exception {
    startZooKeeper();
    progress("starting the controller");
    controller = begin(new ControllerStarter(), controllerProperties("controller"));
    for (int i = 0; i < brokers.length; i++) {
      progress("starting broker " + i);
      brokers[i] = begin(new HelixBrokerStarter(), brokerProperties(i));
    }
    for (int i = 0; i < servers.length; i++) {
      progress("starting server " + i);
      servers[i] = begin(new HelixServerStarter(), serverProperties(i));
    }
    progress("waiting until every instance is healthy");
    List<String> brokerUrls = new ArrayList<>();
    List<String> serverUrls = new ArrayList<>();
    for (int i = 0; i < brokers.length; i++) {
      brokerUrls.add(url("broker-" + i));
    }
    for (int i = 0; i < servers.length; i++) {
      serverUrls.add(url("server-" + i + "-admin"));
    }
    awaitHealthy(url("controller"));
    for (String url : brokerUrls) {
      awaitHealthy(url);
    }
    for (String url : serverUrls) {
      awaitHealthy(url);
    }
    Map<String, Object> ready = new LinkedHashMap<>();
    ready.put("event", "ready");
    ready.put("controllerUrl", url("controller"));
    ready.put("brokerUrls", brokerUrls);
    ready.put("serverAdminUrls", serverUrls);
    ready.put("milliseconds", System.currentTimeMillis() - started);
    print(ready);
  }

  private void answer(String command) {
    if (command.isEmpty()) {
      return;
    }
    try {
      Object value = execute(command.split("\\s+"));
      print(value == null ? Map.of("event", "done", "command", command) : Map.of("event", "done", "command", command, "value", value));
    } catch (Exception error) {
      error.printStackTrace();
      print(Map.of("event", "failed", "command", command, "error", reason(error)));
    }
  }

  private Object execute(String[] words) throws Exception {
    switch (words[0]) {
      case "stop-server":
        stopOne(servers, index(words, servers.length));
        return null;
      case "start-server": {
        int i = index(words, servers.length);
        requireStopped(servers[i], words);
        servers[i] = begin(new HelixServerStarter(), serverProperties(i));
        awaitHealthy(url("server-" + i + "-admin"));
        return null;
      }
      case "stop-broker":
        stopOne(brokers, index(words, brokers.length));
        return null;
      case "start-broker": {
        int i = index(words, brokers.length);
        requireStopped(brokers[i], words);
        brokers[i] = begin(new HelixBrokerStarter(), brokerProperties(i));
        awaitHealthy(url("broker-" + i));
        return null;
      }
      case "add-controller": {
        String name = "controller-" + (otherControllers.size() + 1);
        ports.put(name, Ports.free(ports));
        otherControllers.add(begin(new ControllerStarter(), controllerProperties(name)));
        awaitHealthy(url(name));
        return url(name);
      }
      case "start-minion":
        if (minion == null) {
          ports.put("minion", Ports.free(ports));
          minion = begin(new MinionStarter(), minionProperties());
          awaitHealthy(url("minion"));
        }
        return null;
      case "start-kafka":
        startKafka();
        return HOST + ":" + ports.get("kafka");
      case "create-topic":
        createTopic(words[1], Integer.parseInt(words[2]));
        return null;
      case "produce":
        return produce(words[1], Path.of(words[2]));
      default:
        throw new IllegalArgumentException("unknown command `" + words[0]
            + "`; known: stop-server N, start-server N, stop-broker N, start-broker N, add-controller, start-minion, start-kafka, create-topic NAME PARTITIONS, produce TOPIC FILE");
    }
  }

  private static int index(String[] words, int count) {
    int i = Integer.parseInt(words[1]);
    if (i < 0 || i >= count) {
      throw new IllegalArgumentException("there is no " + i + "; known: 0 to " + (count - 1));
    }
    return i;
  }

  private static void requireStopped(ServiceStartable service, String[] words) {
    if (service != null) {
      throw new IllegalStateException("it runs already: " + String.join(" ", words));
    }
  }

  private static void stopOne(ServiceStartable[] services, int i) {
    if (services[i] == null) {
      throw new IllegalStateException("it is stopped already: " + i);
    }
    services[i].stop();
    services[i] = null;
  }

  private void startZooKeeper() throws Exception {
    File data = Files.createDirectories(directory.resolve("zookeeper")).toFile();
    ZooKeeperServer server = new ZooKeeperServer(data, data, 2000);
    server.setMaxSessionTimeout(60_000);
    ServerCnxnFactory.createFactory(new InetSocketAddress(HOST, ports.get("zookeeper")), 500).startup(server);
  }

  /** The message of an error and of its causes, which say what was wrong. */
  private static String reason(Throwable error) {
    String message = String.valueOf(error.getMessage());
    Throwable cause = error.getCause();
    return cause == null || message.contains(String.valueOf(cause.getMessage())) ? message : message + ": " + reason(cause);
  }

  /** Pinot reads its data folder as a URI: a path with a blank is none. */
  private static String fileUri(Path path) {
    try {
      return new URI("file", null, path.toString(), null).toString();
    } catch (URISyntaxException error) {
      throw new IllegalArgumentException("no URI for the folder " + path, error);
    }
  }

  private Map<String, Object> controllerProperties(String name) {
    Map<String, Object> properties = new HashMap<>();
    properties.put("controller.helix.cluster.name", NAME);
    properties.put("controller.zk.str", zookeeper());
    properties.put("controller.host", HOST);
    properties.put("controller.port", ports.get(name).toString());
    properties.put("controller.access.protocols", "http");
    properties.put("controller.access.protocols.http.host", HOST);
    properties.put("controller.access.protocols.http.port", ports.get(name).toString());
    properties.put("controller.data.dir", fileUri(directory.resolve(name)));
    properties.put("controller.local.temp.dir", directory.resolve(name + "-temp").toString());
    properties.putAll(extra.getOrDefault("controller", Map.of()));
    return properties;
  }

  private Map<String, Object> brokerProperties(int i) {
    String port = ports.get("broker-" + i).toString();
    Map<String, Object> properties = new HashMap<>();
    properties.put("pinot.cluster.name", NAME);
    properties.put("pinot.zk.server", zookeeper());
    properties.put("pinot.broker.hostname", HOST);
    properties.put("pinot.broker.client.queryPort", port);
    properties.put("pinot.broker.client.access.protocols", "http");
    properties.put("pinot.broker.client.access.protocols.http.host", HOST);
    properties.put("pinot.broker.client.access.protocols.http.port", port);
    properties.put("pinot.broker.timeoutMs", "60000");
    properties.put("pinot.broker.delayShutdownTimeMs", "0");
    properties.putAll(extra.getOrDefault("broker", Map.of()));
    return properties;
  }

  private Map<String, Object> serverProperties(int i) {
    String admin = ports.get("server-" + i + "-admin").toString();
    Path data = directory.resolve("server-" + i);
    Map<String, Object> properties = new HashMap<>();
    properties.put("pinot.cluster.name", NAME);
    properties.put("pinot.zk.server", zookeeper());
    properties.put("pinot.server.netty.host", HOST);
    properties.put("pinot.server.netty.port", ports.get("server-" + i).toString());
    properties.put("pinot.server.adminapi.port", admin);
    properties.put("pinot.server.adminapi.access.protocols", "http");
    properties.put("pinot.server.adminapi.access.protocols.http.host", HOST);
    properties.put("pinot.server.adminapi.access.protocols.http.port", admin);
    properties.put("pinot.server.grpc.enable", "false");
    properties.put("pinot.server.shutdown.enableQueryCheck", "false");
    // The default interval of 10 s for checking loaded segments delays every restart.
    properties.put("pinot.server.startup.serviceStatusCheckIntervalMs", "50");
    properties.put("pinot.server.query.executor.timeout", "60000");
    properties.put("pinot.server.instance.dataDir", data.resolve("index").toString());
    properties.put("pinot.server.instance.segmentTarDir", data.resolve("segments").toString());
    properties.putAll(extra.getOrDefault("server", Map.of()));
    return properties;
  }

  private Map<String, Object> minionProperties() {
    String port = ports.get("minion").toString();
    Map<String, Object> properties = new HashMap<>();
    properties.put("pinot.cluster.name", NAME);
    properties.put("pinot.zk.server", zookeeper());
    properties.put("pinot.minion.host", HOST);
    properties.put("pinot.minion.port", port);
    properties.put("pinot.minion.adminapi.access.protocols", "http");
    properties.put("pinot.minion.adminapi.access.protocols.http.host", HOST);
    properties.put("pinot.minion.adminapi.access.protocols.http.port", port);
    properties.put("pinot.minion.instance.dataDir", directory.resolve("minion").toString());
    return properties;
  }

  private void startKafka() throws Exception {
    if (kafka != null) {
      return;
    }
    Map<String, String> properties = new HashMap<>();
    properties.put("broker.id", "0");
    properties.put("zookeeper.connect", zookeeper() + "/kafka");
    properties.put("listeners", "PLAINTEXT://" + HOST + ":" + ports.get("kafka"));
    properties.put("log.dirs", directory.resolve("kafka").toString());
    properties.put("offsets.topic.replication.factor", "1");
    properties.put("group.initial.rebalance.delay.ms", "0");
    kafka = new KafkaServer(new KafkaConfig(properties), Time.SYSTEM, Option.empty(), false);
    kafka.startup();
  }

  private void createTopic(String name, int partitions) throws Exception {
    try (AdminClient admin = AdminClient.create(Map.of("bootstrap.servers", HOST + ":" + ports.get("kafka")))) {
      admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
    }
  }

  /** Sends each line of the file, {@code key<TAB>value}, and returns the number of lines. */
  private int produce(String topic, Path file) throws Exception {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", HOST + ":" + ports.get("kafka"));
    properties.put("acks", "all");
    List<String> lines = Files.readAllLines(file);
    try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
      for (String line : lines) {
        int tab = line.indexOf('\t');
        producer.send(new ProducerRecord<>(topic, line.substring(0, tab), line.substring(tab + 1)));
      }
      producer.flush();
    }
    return lines.size();
  }

  private static ServiceStartable begin(ServiceStartable service, Map<String, Object> properties) throws Exception {
    service.init(new PinotConfiguration(properties));
    service.start();
    return service;
  }

  private static void awaitHealthy(String url) throws Exception {
    long deadline = System.currentTimeMillis() + 120_000;
    while (System.currentTimeMillis() < deadline) {
      try {
        HttpURLConnection connection = (HttpURLConnection) new URL(url + "/health").openConnection();
        connection.setConnectTimeout(2_000);
        connection.setReadTimeout(5_000);
        if (connection.getResponseCode() == 200) {
          return;
        }
      } catch (java.io.IOException notYet) {
        // Not listening yet; the deadline below limits the wait.
      }
      Thread.sleep(50);
    }
    throw new IllegalStateException(url + "/health did not respond with 200 within 120 s; see the log");
  }

  /** Closes the ZooKeeper sessions, so that the next start need not wait until they expire. */
  private void stop() {
    Thread limit = new Thread(() -> {
      try {
        Thread.sleep(STOP_LIMIT_MS);
      } catch (InterruptedException ended) {
        return;
      }
      Runtime.getRuntime().halt(0);
    });
    limit.setDaemon(true);
    limit.start();
    List<Thread> stops = new ArrayList<>();
    for (ServiceStartable service : services()) {
      Thread thread = new Thread(service::stop);
      thread.start();
      stops.add(thread);
    }
    try {
      for (Thread thread : stops) {
        thread.join();
      }
    } catch (InterruptedException ended) {
      // The JVM exits below in any case.
    }
    if (controller != null) {
      controller.stop();
    }
    Runtime.getRuntime().halt(0);
  }

  private List<ServiceStartable> services() {
    List<ServiceStartable> all = new ArrayList<>();
    for (ServiceStartable[] some : List.of(servers, brokers)) {
      Arrays.stream(some).flatMap(service -> Optional.ofNullable(service).stream()).forEach(all::add);
    }
    all.addAll(otherControllers);
    Optional.ofNullable(minion).ifPresent(all::add);
    return all;
  }

  private String zookeeper() {
    return HOST + ":" + ports.get("zookeeper");
  }

  private String url(String port) {
    return "http://" + HOST + ":" + ports.get(port);
  }

  private void progress(String message) {
    print(Map.of("event", "progress", "message", message));
  }

  private void print(Map<String, Object> event) {
    try {
      answers.println(JSON.writeValueAsString(event));
      answers.flush();
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  private static final class Options {
    private Path directory;
    private int brokers = 1;
    private int servers = 1;
    private final Map<String, Map<String, String>> extra = new HashMap<>();

    static Options parse(String[] arguments) {
      Options options = new Options();
      options.directory = Path.of(arguments[0]).toAbsolutePath();
      for (int i = 1; i + 1 < arguments.length; i += 2) {
        String value = arguments[i + 1];
        switch (arguments[i]) {
          case "--brokers":
            options.brokers = Integer.parseInt(value);
            break;
          case "--servers":
            options.servers = Integer.parseInt(value);
            break;
          case "--controller":
          case "--broker":
          case "--server": {
            int equals = value.indexOf('=');
            options.extra.computeIfAbsent(arguments[i].substring(2), role -> new HashMap<>())
                .put(value.substring(0, equals), value.substring(equals + 1));
            break;
          }
          default:
            throw new IllegalArgumentException("unknown option `" + arguments[i] + "`");
        }
      }
      return options;
    }
  }

  private static final class Ports {
    // Below the range of ephemeral ports, so that a chosen port is still free when it is opened.
    private static final int FIRST = 20_000;
    private static final int LAST = 32_000;

    static Map<String, Integer> of(Options options) throws Exception {
      Files.createDirectories(options.directory);
      File file = options.directory.resolve("ports.json").toFile();
      List<String> names = names(options);
      Map<String, Integer> ports = new LinkedHashMap<>();
      if (file.exists()) {
        JSON.readValue(file, Map.class).forEach((name, port) -> ports.put((String) name, (Integer) port));
      }
      for (String name : names) {
        Integer kept = ports.get(name);
        if (kept == null) {
          ports.put(name, free(ports));
        } else if (!isFree(kept)) {
          throw new IllegalStateException("port " + kept + ", kept for " + name + " in " + file + ", is taken by another program");
        }
      }
      JSON.writeValue(file, ports);
      return ports;
    }

    private static List<String> names(Options options) {
      List<String> names = new ArrayList<>(List.of("zookeeper", "controller", "kafka"));
      for (int i = 0; i < options.brokers; i++) {
        names.add("broker-" + i);
      }
      for (int i = 0; i < options.servers; i++) {
        names.add("server-" + i);
        names.add("server-" + i + "-admin");
      }
      return names;
    }

    private static int free(Map<String, Integer> taken) {
      for (int tries = 0; tries < 1_000; tries++) {
        int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);
        if (!taken.containsValue(port) && isFree(port)) {
          return port;
        }
      }
      throw new IllegalStateException("found no free port between " + FIRST + " and " + LAST);
    }

    private static boolean isFree(int port) {
      try (ServerSocket everywhere = new ServerSocket(port, 1)) {
        everywhere.close();
        try (ServerSocket loopback = new ServerSocket(port, 1, InetAddress.getByName(HOST))) {
          return true;
        }
      } catch (java.io.IOException taken) {
        return false;
      }
    }
  }
}
