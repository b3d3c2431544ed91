// Filters on lists and dicts.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/text/jinja/access.h"
#include "weft/models/text/jinja/builtin.h"
#include "weft/models/text/jinja/operators.h"
#include "weft/models/text/jinja/print.h"
#include "weft/models/text/jinja/text_tools.h"

#include <fmt/format.h>

#include "weft/core/excerpt.h"

namespace weft::chat {
namespace {

using Kind = Sequence::Kind;

Value default_value(Run&, const Value& subject, const CallArguments& arguments) {
  const bool falsy_too = arguments.has(1) && truth(arguments[1]);
  if (!is<Undefined>(subject) && (!falsy_too || truth(subject))) return subject;
  return arguments.has(0) ? arguments[0] : text_value("");
}

Value first(Run& run, const Value& subject, const CallArguments&) {
  std::vector<Value> items = items_of(run, subject);
  return items.empty() ? undefined("No first item, sequence was empty.") : std::move(items.front());
}

Value last(Run& run, const Value& subject, const CallArguments&) {
  length_of(run, subject);  // throws for values without a length, as in Jinja
  std::vector<Value> items = items_of(run, subject);
  return items.empty() ? undefined("No last item, sequence was empty.") : std::move(items.back());
}

Value length(Run& run, const Value& subject, const CallArguments&) {
  return length_of(run, subject);
}

Value list(Run& run, const Value& subject, const CallArguments&) {
  return run.list(items_of(run, subject));
}

Value reversed(Run& run, const Value& subject, const CallArguments&) {
  std::vector<Value> items = items_of(run, subject);
  std::reverse(items.begin(), items.end());
  if (is<TextPtr>(subject)) return joined_texts(run, items, TracedText(), true);
  return run.sequence(Kind::iterator, std::move(items));
}

Value join(Run& run, const Value& subject, const CallArguments& arguments) {
  std::vector<Value> items = items_of(run, subject);
  if (arguments.has(1) && !is<None>(arguments[1])) {
    for (Value& item : items) item = path_of(run, item, arguments[1]);
  }
  const TextPtr between =
      arguments.has(0) ? printed(run, arguments[0]) : std::make_shared<const TracedText>();
  return joined_texts(run, items, *between, false);
}

Value pairs(Run& run, const Value& subject, const CallArguments&) {
  std::vector<Value> items;
  const Mapping* mapping = as_mapping(subject);
  if (mapping == nullptr && !is<Undefined>(subject))
    run.fail(fmt::format("'items' requires a dict, not {}", kind_of(subject)));
  if (mapping != nullptr) {
    for (const auto& [key, value] : mapping->entries) {
      run.step();
      items.push_back(run.sequence(Kind::tuple, {key, value}));
    }
  }
  return run.sequence(Kind::iterator, std::move(items));
}

const Builtin& named(Run& run, const Value& name, const Builtin* (*find)(std::string_view),
                     std::string_view what) {
  const std::string& text = text_argument(run, name, what).text();
  const Builtin* found = find(text);
  if (found == nullptr)
    run.fail(fmt::format("'{}' is not a chat template {}", excerpt(text), what));
  return *found;
}

/// Returns all arguments except the first `left_out` arguments.
std::vector<Value> arguments_after(const CallArguments& arguments, std::size_t left_out) {
  return {arguments.rest.begin() + static_cast<std::ptrdiff_t>(left_out), arguments.rest.end()};
}

Value map(Run& run, const Value& subject, const CallArguments& arguments) {
  if (!truth(subject)) return run.sequence(Kind::iterator, {});
  std::vector<Value> items = items_of(run, subject);
  if (!arguments.rest.empty()) {
    const Builtin& filter = named(run, arguments.rest[0], find_filter, "filter");
    for (Value& item : items)
      item = call(run, filter, item, arguments_after(arguments, 1), arguments.named);
    return run.sequence(Kind::iterator, std::move(items));
  }
  const Value* attribute = nullptr;
  const Value* otherwise = nullptr;
  for (const auto& [name, value] : arguments.named) {
    if (name == "attribute") {
      attribute = &value;
    } else if (name == "default") {
      otherwise = &value;
    } else {
      run.fail(fmt::format("'map' has no parameter '{}'", excerpt(name)));
    }
  }
  if (attribute == nullptr)
    run.fail("'map' requires the name of a filter or the argument 'attribute'");
  for (Value& item : items) {
    item = path_of(run, item, *attribute);
    if (otherwise != nullptr && !is<None>(*otherwise) && is<Undefined>(item)) item = *otherwise;
  }
  return run.sequence(Kind::iterator, std::move(items));
}

/// Implements select, reject, selectattr and rejectattr, which filter items by applying a test to
/// each item or to one of its attributes.
template <bool Wanted, bool OfAttribute>
Value choose(Run& run, const Value& subject, const CallArguments& arguments) {
  if (!truth(subject)) return run.sequence(Kind::iterator, {});
  constexpr std::size_t kTestAt = OfAttribute ? 1 : 0;
  if (arguments.rest.size() < kTestAt) run.fail("the filter requires the name of an attribute");
  const Builtin* test = arguments.rest.size() > kTestAt
                            ? &named(run, arguments.rest[kTestAt], find_test, "test")
                            : nullptr;
  std::vector<Value> kept;
  for (Value& item : items_of(run, subject)) {
    run.step();
    const Value looked_at = OfAttribute ? path_of(run, item, arguments.rest[0]) : item;
    const Value holds =
        test == nullptr
            ? looked_at
            : call(run, *test, looked_at, arguments_after(arguments, kTestAt + 1), arguments.named);
    if (truth(holds) == Wanted) kept.push_back(std::move(item));
  }
  return run.sequence(Kind::iterator, std::move(kept));
}

}  // namespace

std::span<const Builtin> sequence_filters() {
  static constexpr Builtin kFilters[] = {
      {.name = "count", .call = length},
      {.name = "d", .parameters = {"default_value", "boolean"}, .call = default_value},
      {.name = "default", .parameters = {"default_value", "boolean"}, .call = default_value},
      {.name = "first", .call = first},
      {.name = "items", .call = pairs},
      {.name = "join", .parameters = {"d", "attribute"}, .call = join},
      {.name = "last", .call = last},
      {.name = "length", .call = length},
      {.name = "list", .call = list},
      {.name = "map", .takes_rest = true, .takes_named = true, .call = map},
      {.name = "reject", .takes_rest = true, .takes_named = true, .call = choose<false, false>},
      {.name = "rejectattr", .takes_rest = true, .takes_named = true, .call = choose<false, true>},
      {.name = "reverse", .call = reversed},
      {.name = "select", .takes_rest = true, .takes_named = true, .call = choose<true, false>},
      {.name = "selectattr", .takes_rest = true, .takes_named = true, .call = choose<true, true>},
  };
  return kFilters;
}

}  // namespace weft::chat
