// Fuzzes chat templates. For any bytes, either ChatFormat::from_template() throws FormatError, or
// rendering a conversation throws DataError or returns valid UTF-8 that is completely covered by
// its text runs. Time and memory are bounded.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/unicode/repair.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  static const weft::Conversation conversation = {
      {"system", " Be brief.\n"},
      {"user", "Hi <|im_end|> \xC3\xA9\xF0\x9F\x98\x80", {{"name", "Ann"}}},
      {"assistant", "<think>\nx\n</think>\n\nHello"}};
  try {
    const weft::ChatFormat format =
        weft::ChatFormat::from_template(source, {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    for (const bool prompt : {false, true}) {
      try {
        const weft::RenderedChat chat = format.render(
            conversation, {.add_generation_prompt = prompt,
                           .variables = {{"x", std::int64_t{-7}}, {"y", 2.5}, {"z", false}},
                           .now = std::tm{},
                           .limits = {.steps = 100'000, .bytes = std::size_t{1} << 20}});
        if (chat.text.size() > std::size_t{1} << 20) std::abort();
        if (weft::find_invalid_utf8(chat.text) < chat.text.size()) std::abort();
        std::size_t end = 0;
        for (const weft::TextRun& run : chat.runs) {
          if (run.end <= end) std::abort();
          end = run.end;
        }
        if (end != chat.text.size()) std::abort();
      } catch (const weft::DataError&) {  // the documented error of an operation on wrong values
      }
    }
  } catch (const weft::FormatError&) {  // the documented error for an invalid template
  }
  return 0;
}
