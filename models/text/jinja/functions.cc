// The global functions of templates.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/text/jinja/builtin.h"
#include "weft/models/text/jinja/print.h"

namespace weft::chat {
namespace {

constexpr std::int64_t kMaxRange = 100'000;  // same limit as in Jinja's sandbox
constexpr std::size_t kMaxDateBytes = 1000;

Value raise_exception(Run& run, const Value&, const CallArguments& arguments) {
  run.fail(printed(run, arguments[0])->text());
}

Value strftime_now(Run& run, const Value&, const CallArguments& arguments) {
  const std::string& format = text_argument(run, arguments[0], "format").text();
  if (format.empty()) return text_value("");
  run.pass(Pass::convert, format.size());
  if (format.find('\0') != std::string::npos) run.fail("a date format must not contain zero bytes");
  std::array<char, kMaxDateBytes> date = {};
  // The trailing space distinguishes an empty result from a result that does not fit into the
  // buffer.
  const std::size_t size =
      std::strftime(date.data(), date.size(), (format + " ").c_str(), &run.now());
  if (size == 0) run.fail(fmt::format("a date must have at most {} bytes", kMaxDateBytes - 2));
  return run.text(TracedText(std::string(date.data(), size - 1)));
}

Value range(Run& run, const Value&, const CallArguments& arguments) {
  std::array<std::int64_t, 3> numbers = {0, 0, 1};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (arguments.has(i)) numbers[i] = integer_argument(run, arguments[i], "range");
  }
  auto [begin, end, step] = numbers;
  if (!arguments.has(1)) std::swap(begin, end);
  if (step == 0) run.fail("the step of 'range' must not be 0");
  std::vector<Value> items;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (static_cast<std::int64_t>(items.size()) >= kMaxRange)
      run.fail(fmt::format("'range' must not yield more than {} numbers", kMaxRange));
    run.step();
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return run.sequence(Sequence::Kind::range, std::move(items));
}

/// Returns a dict with the named arguments, added to the dict in the first argument if there is
/// one.
Mapping mapping_of(Run& run, const CallArguments& arguments, std::string_view what) {
  Mapping mapping;
  if (arguments.has(0)) {
    const Mapping* given = as_mapping(arguments[0]);
    if (given == nullptr)
      run.fail(fmt::format("'{}' accepts a dict and named arguments, not {}", what,
                           kind_of(arguments[0])));
    run.step(given->entries.size());
    mapping.entries = given->entries;
  }
  for (const auto& [name, value] : arguments.named)
    run.set(mapping, std::make_shared<const TracedText>(name), value);
  return mapping;
}

Value make_dict(Run& run, const Value&, const CallArguments& arguments) {
  return run.mapping(mapping_of(run, arguments, "dict"));
}

Value make_namespace(Run& run, const Value&, const CallArguments& arguments) {
  Namespace* space = run.make_namespace();
  space->fields = mapping_of(run, arguments, "namespace");
  return space;
}

}  // namespace

std::span<const Builtin> functions() {
  // The first parameter of dict() and namespace() is positional-only: its name cannot occur in a
  // template.
  static constexpr Builtin kFunctions[] = {
      {.name = "dict", .parameters = {" "}, .takes_named = true, .call = make_dict},
      {.name = "namespace", .parameters = {" "}, .takes_named = true, .call = make_namespace},
      {.name = "raise_exception",
       .parameters = {"message"},
       .required = 1,
       .call = raise_exception},
      {.name = "range", .parameters = {"start", "stop", "step"}, .required = 1, .call = range},
      {.name = "strftime_now", .parameters = {"format"}, .required = 1, .call = strftime_now},
  };
  return kFunctions;
}

const Builtin* find_function(std::string_view name) { return find_in(functions(), name); }

}  // namespace weft::chat
