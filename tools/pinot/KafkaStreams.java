import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaServer;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/** A Kafka in the JVM of the cluster. */
public final class KafkaStreams implements Cluster.Streams {
  private String servers;

  @Override
  public void start(String zookeeper, String host, int port, Path directory) {
    servers = host + ":" + port;
    Map<String, String> properties = new HashMap<>();
    properties.put("broker.id", "0");
    properties.put("zookeeper.connect", zookeeper);
    properties.put("listeners", "PLAINTEXT://" + servers);
    properties.put("log.dirs", directory.toString());
    properties.put("offsets.topic.replication.factor", "1");
    properties.put("group.initial.rebalance.delay.ms", "0");
    new KafkaServer(new KafkaConfig(properties), Time.SYSTEM, Option.empty(), false).startup();
  }

  @Override
  public void createTopic(String name, int partitions) throws Exception {
    try (AdminClient admin = AdminClient.create(Map.of("bootstrap.servers", servers))) {
      admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
    }
  }

  @Override
  public int produce(String topic, Path file) throws Exception {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", servers);
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
}
