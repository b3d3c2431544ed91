#include "weft/models/text/jinja/text_tools.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "weft/models/text/jinja/builtin.h"
#include "weft/models/text/jinja/operators.h"
#include "weft/models/text/jinja/print.h"
#include "weft/models/text/jinja/text_search.h"

namespace weft::chat {
namespace {

/// Parses a number with optional surrounding whitespace.
template <class Number>
std::optional<Number> read_number(Run& run, std::string_view text) {
  run.pass(Pass::decode, text.size());
  const Stripped left = strip(text, Ends::both);
  std::string_view digits = text.substr(left.begin, left.end - left.begin);
  if (digits.starts_with('+')) {
    digits.remove_prefix(1);
    if (digits.starts_with('-')) return std::nullopt;
  }
  Number number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [read, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || read != end) return std::nullopt;
  return number;
}

bool ends_line(char32_t c) {
  return (c >= U'\n' && c <= U'\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

Value replaced(Run& run, const TracedText& text, const TracedText& from, const TracedText& to,
               std::int64_t most) {
  const std::string_view all = text.text();
  const TextSearch search(run, from.text());
  std::size_t left =
      most < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(most);
  TracedText result;
  const auto put = [&] {
    run.step();
    run.make_bytes(to.footprint());
    result.append(to);
    --left;
  };
  std::size_t given = 0;
  if (from.empty()) {  // insert before each character and after the last one
    while (left > 0 && given < all.size()) {
      put();
      run.step();
      const std::size_t end = given + character_size(all[given]);
      result.append(text, given, end);
      given = end;
    }
    if (left > 0) put();
  }
  while (left > 0 && !from.empty()) {
    const std::size_t found = search.in(all.substr(given));
    if (found == std::string_view::npos) break;
    result.append(text, given, given + found);
    put();
    given += found + from.size();
  }
  result.append(text, given, all.size());
  return run.text(std::move(result));
}

Value stripped_text(Run& run, const TracedText& text, Ends ends, const Value* characters) {
  Stripped left = {};
  if (characters == nullptr || is<None>(*characters)) {
    left = strip(text.text(), ends);
  } else {
    const std::string& given = text_argument(run, *characters, "chars").text();
    run.pass(Pass::convert, given.size());
    const CharacterSet set(given);
    left = strip(text.text(), ends, &set);
  }
  run.pass(Pass::convert, text.size() - (left.end - left.begin));
  return run.text(text.part(left.begin, left.end));
}

std::vector<TracedText> lines_of(Run& run, const TracedText& text) {
  run.step(text.size() + 1);
  std::vector<TracedText> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at;
    const char32_t c = take_character(text.text(), at);
    if (!ends_line(c)) continue;
    run.step(8);  // because each line becomes a new value
    lines.push_back(text.part(begin, end));
    if (c == U'\r' && at < text.size() && text.text()[at] == '\n') ++at;
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.part(begin, text.size()));
  run.make_bytes(text.footprint());
  return lines;
}

Value joined_texts(Run& run, const std::vector<Value>& items, const TracedText& between,
                   bool texts_only) {
  TracedText result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    run.step();
    if (texts_only && !is<TextPtr>(items[i])) {
      require_defined(run, items[i]);
      run.fail(fmt::format("'join' requires strings, but item {} is {}", i, kind_of(items[i])));
    }
    const TextPtr part = printed(run, items[i]);
    run.make_bytes(part->footprint() + between.footprint());
    if (i > 0) result.append(between);
    result.append(*part);
  }
  return std::make_shared<const TracedText>(std::move(result));
}

std::optional<std::int64_t> read_integer(Run& run, const TracedText& text) {
  return read_number<std::int64_t>(run, text.text());
}

std::optional<double> read_float(Run& run, const TracedText& text) {
  return read_number<double>(run, text.text());
}

}  // namespace weft::chat
