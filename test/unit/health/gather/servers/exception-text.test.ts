import { describe, expect, it } from 'vitest';
import { exceptionText } from '../../../../../src/health/gather/servers/exception-text.ts';

const AT = '\n\tat java.base/sun.nio.ch.Net.pollConnect(Native Method)\n...';

describe('the text of an exception', () => {
  it.each([
    ['TableDoesNotExistError', 'TableDoesNotExistError'],
    ['3 servers [127.0.0.1_O] not responded', '3 servers [127.0.0.1_O] not responded'],
    [
      `SQLParsingError:\norg.apache.pinot.sql.parsers.SqlCompilationException: Caught exception while parsing query: SELEC 1${AT}\nCaused by: org.apache.calcite.runtime.CalciteContextException: From line 1, column 1: Non-query expression${AT}\nCaused by: org.apache.calcite.sql.validate.SqlValidatorException: Non-query expression in illegal context${AT}`,
      'SQLParsingError: SqlCompilationException: Caught exception while parsing query: SELEC 1; caused by SqlValidatorException: Non-query expression in illegal context',
    ],
    [
      `io.netty.channel.AbstractChannel$AnnotatedConnectException: Connection refused: /127.0.0.1:18202\nCaused by: java.net.ConnectException: Connection refused${AT}`,
      'AbstractChannel$AnnotatedConnectException: Connection refused: /127.0.0.1:18202',
    ],
    ['', ''],
    [`\n${AT}`, ''],
  ])('%j', (message, text) => {
    expect(exceptionText(message)).toBe(text);
  });

  it('is bounded and has one line for any message', () => {
    for (const hostile of ['\n'.repeat(1e6), 'x'.repeat(1e6), `a:\r\n${'Caused by: b\n'.repeat(1e5)}`]) {
      const text = exceptionText(hostile);
      expect(text.length).toBeLessThanOrEqual(400);
      expect(text).not.toMatch(/[\r\n]/u);
    }
  });
});
