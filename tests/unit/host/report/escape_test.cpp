#include "host/report/escape.h"

#include <catch2/catch.hpp>

using namespace tutti;

TEST_CASE("what has a meaning in HTML becomes an entity") {
  CHECK(escape("<script>alert(\"1\" & '2')</script>") == "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;");
}

TEST_CASE("text in any language stays as it is") { CHECK(escape("Zürich 東京 😀\n\t1") == "Zürich 東京 😀\n\t1"); }

TEST_CASE("control characters and bytes that aren't UTF-8 are replaced") {
  CHECK(escape(std::string("a\x01") + '\0' +
               "\x7f"
               "b") == "a   b");
  CHECK(escape("\xff"
               "a\xc3") == "?a?");              // never a byte of UTF-8; cut off
  CHECK(escape("\xc0\xaf") == "??");            // '/' in a form too long
  CHECK(escape("\xed\xa0\x80") == "???");       // a surrogate
  CHECK(escape("\xf4\x90\x80\x80") == "????");  // above U+10FFFF
}
