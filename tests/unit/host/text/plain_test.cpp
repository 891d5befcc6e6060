#include "host/text/plain.h"

#include <catch2/catch.hpp>

namespace tutti {

TEST_CASE("good text stays as it is") {
  CHECK(plain_text("learning rate 0.5 \xC3\xA4 \xE2\x80\xA6 \xF0\x9F\x8E\xBB") ==
        "learning rate 0.5 \xC3\xA4 \xE2\x80\xA6 \xF0\x9F\x8E\xBB");
  CHECK(plain_text("") == "");
}

TEST_CASE("control characters and bytes that are no UTF-8 become question marks") {
  CHECK(plain_text("a\nb\x1b[31m\x7f") == "a?b?[31m?");
  CHECK(plain_text("bad \xff\xfe") == "bad ??");
  CHECK(plain_text("cut \xE2\x80") == "cut ??");
  CHECK(plain_text("overlong \xC0\xAF \xE0\x80\xAF") == "overlong ?? ???");
  CHECK(plain_text("surrogate \xED\xA0\x80") == "surrogate ???");
}

}  // namespace tutti
