import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.commons.io.FileUtils;
import org.apache.pinot.common.utils.TarGzCompressionUtils;
import org.apache.pinot.segment.local.segment.creator.impl.SegmentIndexCreationDriverImpl;
import org.apache.pinot.segment.spi.creator.SegmentGeneratorConfig;
import org.apache.pinot.spi.config.table.TableConfig;
import org.apache.pinot.spi.data.Schema;
import org.apache.pinot.spi.data.readers.FileFormat;

/**
 * Builds segments from files with one row per line as JSON.
 *
 * <pre>SegmentBuilder JOB.json…</pre> where a job is {@code {schema, config, rows, name, output}}: a Pinot schema, a table config, the file of
 * rows, the segment's name and the {@code .tar.gz} to write. Many jobs run in one JVM, because its start takes longer than a small segment.
 */
public final class SegmentBuilder {
  private SegmentBuilder() {}

  public static void main(String[] jobs) throws Exception {
    ObjectMapper json = new ObjectMapper();
    for (String job : jobs) {
      JsonNode segment = json.readTree(new File(job));
      build(segment);
      System.err.println("  " + segment.get("name").asText());
    }
  }

  private static void build(JsonNode job) throws Exception {
    String name = job.get("name").asText();
    Path work = Files.createTempDirectory("segment");
    try {
      SegmentGeneratorConfig config = new SegmentGeneratorConfig(
          new ObjectMapper().treeToValue(job.get("config"), TableConfig.class), Schema.fromString(job.get("schema").toString()));
      config.setInputFilePath(job.get("rows").asText());
      config.setFormat(FileFormat.JSON);
      config.setOutDir(work.toString());
      config.setSegmentName(name);
      SegmentIndexCreationDriverImpl driver = new SegmentIndexCreationDriverImpl();
      driver.init(config);
      driver.build();
      TarGzCompressionUtils.createTarGzFile(work.resolve(name).toFile(), new File(job.get("output").asText()));
    } finally {
      FileUtils.deleteDirectory(work.toFile());
    }
  }
}
