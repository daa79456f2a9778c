import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shownResponse } from '../../../../../src/api/queries/data-plane/failure-message.ts';
import { answerText } from '../../../results/answers.ts';

const ROW = '["a-secret-value"]';

describe('what the state of a failed query says about a response', () => {
  it.each([
    [
      'its exceptions',
      answerText([ROW], { exceptions: '[{"message":"a"},{"errorCode":2},null]' }),
      'a; {"errorCode":2}; null',
    ],
    ['an error', '{"code":500,"error":"out of memory"}', '{"code":500,"error":"out of memory"}'],
    ['a text', 'no broker', 'no broker'],
    ['that it is empty, as Pinot 0.11 responds with 500 to a filter that it cannot fold', ' ', 'an empty body'],
    ['rows without exceptions', `{"resultTable":{"rows":[${ROW}]},"numDocsScanned":3}`, '{"numDocsScanned":3}'],
    ['a name with an escape', `{"result\\u0054able":{"rows":[${ROW}]},"code":1}`, '{"code":1}'],
    ['rows that end early', `{"resultTable":{"rows":[${ROW}`, 'a response that is not shown, because it may have rows'],
    [
      'damaged JSON with an escape in a name',
      `{"result\\u0054able":{"rows":[${ROW}`,
      'a response that is not shown, because it may have rows',
    ],
    ['an array', `[${ROW}]`, 'a response that is not shown, because it may have rows'],
    ['a string', '"a-secret-value"', 'a response that is not shown, because it may have rows'],
  ])('is %s', (_what, text, shown) => {
    expect(shownResponse(text)).toBe(shown);
  });

  it('has no rows, wherever a response is cut', () => {
    const whole = answerText([ROW, ROW], { exceptions: '[{"message":"part"}]' });
    fc.assert(
      fc.property(fc.nat(whole.length), (end) => !shownResponse(whole.slice(0, end)).includes('a-secret-value')),
    );
  });
});
