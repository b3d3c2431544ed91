// Fuzzes chat templates. For any bytes, either ChatFormat::from_template() throws FormatError, or
// rendering a conversation throws DataError or returns valid UTF-8 that is completely covered by
// its text runs. Time and memory are bounded, also if the operands of every operation are long: an
// input that starts with the byte 0xFF selects a built-in operation and its operands, which a
// template applies in a loop.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/jinja/builtin.h"
#include "weft/models/text/unicode/repair.h"

namespace {

/// Returns a template that applies the operation and the operands that `choices` selects. The
/// variables a, b, n and k are long texts.
std::string operation(std::span<const std::uint8_t> choices) {
  const auto next = [&](std::size_t count) {
    if (choices.empty()) return std::size_t{0};
    const std::uint8_t choice = choices.front();
    choices = choices.subspan(1);
    return choice % count;
  };
  const auto operand = [&] {
    constexpr std::string_view kOperands[] = {
        "a",         "b",      "n",         "k",          "messages", "{k: a, b: k}",
        "[a, b, k]", "(a, b)", "a[1:]~b",   "a|list",     "none",     "1",
        "-1",        "'a'",    "''",        "true",       "b[:-1]",   "k.split()",
        "[[a]]",     "{k: k}", "range(99)", "{b[1:]: 1}", "a[::2]",   "'k'"};
    return std::string(kOperands[next(std::size(kOperands))]);
  };
  std::string expression = operand();
  const std::size_t kind = next(6);
  if (kind < 2) {
    constexpr std::string_view kOperators[] = {"in", "not in", "==", "!=", "<", "<=", ">", ">=",
                                               "+",  "~",      "*",  "-",  "/", "//", "%", "and"};
    expression += " " + std::string(kOperators[next(std::size(kOperators))]) + " " + operand();
  } else if (kind == 2) {
    expression = "(" + expression + ")[" + operand() + (next(2) == 0 ? "]" : ":" + operand() + "]");
  } else {
    using weft::chat::Builtin;
    const std::span<const Builtin> tables[] = {
        weft::chat::text_filters(), weft::chat::sequence_filters(), weft::chat::value_tests(),
        weft::chat::text_methods(), weft::chat::mapping_methods(),  weft::chat::sequence_methods()};
    const std::size_t table = next(std::size(tables));
    const Builtin& builtin = tables[table][next(tables[table].size())];
    expression = "(" + expression + ")" +
                 (table < 2    ? "|"
                  : table == 2 ? " is "
                               : ".") +
                 std::string(builtin.name) + "(";
    const std::size_t count = builtin.takes_rest
                                  ? next(4)
                                  : builtin.required + next(builtin.count() + 1 - builtin.required);
    for (std::size_t i = 0; i < count; ++i) expression += (i > 0 ? ", " : "") + operand();
    expression += ")";
  }
  return "{% for i in range(9999) %}{% if " + expression + " %}{% endif %}{% endfor %}";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string kA(1 << 16, 'a'), kB = std::string(1 << 15, 'a') + "b", kN(1 << 16, '1'),
                                             kK(1 << 16, 'k');
  const bool operates = size > 0 && data[0] == 0xFF;
  const std::string source = operates ? operation(std::span(data, size).subspan(1))
                                      : std::string(reinterpret_cast<const char*>(data), size);
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
                           .variables = {{"x", std::int64_t{-7}},
                                         {"y", 2.5},
                                         {"z", false},
                                         {"a", kA},
                                         {"b", kB},
                                         {"n", kN},
                                         {"k", kK}},
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
