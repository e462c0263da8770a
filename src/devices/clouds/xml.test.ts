import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { elementsAt, escapeXml, parseXml, textAt } from './xml.ts';

test('elements are found by their path, whatever their prefix', () => {
  const document = parseXml(`<?xml version="1.0"?>
<s:Envelope xmlns:s="urn:x"><s:Body><!-- <item>no</item> -->
  <set><item id='1' xsi:type="a:B"><name>one</name></item><item><name>two &lt;&#38;&#x21;</name></item><item/></set>
  <raw><![CDATA[<a>&amp;]]></raw>
</s:Body></s:Envelope>`);
  const items = elementsAt(document, 'Body', 'set', 'item');
  assert.equal(items.length, 3);
  assert.deepEqual(items[0]?.attributes, { id: '1', 'xsi:type': 'a:B' });
  assert.deepEqual(
    items.map((item) => textAt(item, 'name')),
    ['one', 'two <&!', undefined],
  );
  assert.equal(textAt(document, 'Body', 'raw'), '<a>&amp;');
});

test('what is not one whole document is none', () => {
  for (const text of [
    '',
    'x',
    '<a>',
    '<a></b>',
    '<a/><b/>',
    '</a>',
    '<a><b></a></b>',
    '<!DOCTYPE a [<!ENTITY b "c">]><a/>',
  ]) {
    assert.equal(parseXml(text), undefined, text);
  }
});

test('any text survives', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const document = parseXml(`<a b="${escapeXml(text)}">${escapeXml(text)}</a>`);
      assert.equal(document?.text, text);
      assert.equal(document?.attributes['b'], text);
    }),
  );
});
