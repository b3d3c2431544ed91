// Jinja tests: predicates after "is".
#include <unicode/uchar.h>

#include <string_view>

#include "weft/models/text/jinja/builtin.h"
#include "weft/models/text/jinja/operators.h"
#include "weft/models/text/jinja/print.h"
#include "weft/models/text/unicode/characters.h"

namespace weft::chat {
namespace {

Value defined(Run&, const Value& subject, const CallArguments&) { return !is<Undefined>(subject); }

/// Returns true if the value has one of the types.
template <class... Types>
Value has_type(Run&, const Value& subject, const CallArguments&) {
  return (is<Types>(subject) || ...);
}

template <bool Wanted>
Value is_flag(Run&, const Value& subject, const CallArguments&) {
  const auto* flag = as<bool>(subject);
  return flag != nullptr && *flag == Wanted;
}

Value iterable(Run&, const Value& subject, const CallArguments&) { return is_iterable(subject); }

Value is_sequence(Run&, const Value& subject, const CallArguments&) {
  const Sequence* sequence = as_sequence(subject);
  if (sequence != nullptr)
    return sequence->kind != Sequence::Kind::iterator && sequence->kind != Sequence::Kind::view;
  return is<TextPtr>(subject) || is<MappingPtr>(subject);
}

Value equals(Run& run, const Value& subject, const CallArguments& arguments) {
  return equal(run, subject, arguments[0]);
}
Value differs(Run& run, const Value& subject, const CallArguments& arguments) {
  return !equal(run, subject, arguments[0]);
}
Value less(Run& run, const Value& subject, const CallArguments& arguments) {
  return compare(run, subject, arguments[0], "<") < 0;
}
Value at_most(Run& run, const Value& subject, const CallArguments& arguments) {
  return compare(run, subject, arguments[0], "<=") <= 0;
}
Value greater(Run& run, const Value& subject, const CallArguments& arguments) {
  return compare(run, subject, arguments[0], ">") == 1;
}
Value at_least(Run& run, const Value& subject, const CallArguments& arguments) {
  const int order = compare(run, subject, arguments[0], ">=");
  return order == 0 || order == 1;
}
Value is_in(Run& run, const Value& subject, const CallArguments& arguments) {
  return contains(run, arguments[0], subject);
}

/// Returns true if two values are identical. Strings, sequences and dicts must be the same object;
/// values of other types must be equal.
Value same_as(Run& run, const Value& subject, const CallArguments& arguments) {
  const Value& other = arguments[0];
  if (subject.index() != other.index()) return false;
  if (const auto* text = as<TextPtr>(subject)) return *text == *as<TextPtr>(other);
  if (const auto* sequence = as<SequencePtr>(subject)) return *sequence == *as<SequencePtr>(other);
  if (const auto* mapping = as<MappingPtr>(subject)) return *mapping == *as<MappingPtr>(other);
  return equal(run, subject, other);
}

Value has_rest(Run& run, const Value& subject, const Value& divisor, std::int64_t rest) {
  return equal(run, calculate(run, Arithmetic::modulo, subject, divisor), rest);
}
Value divisible(Run& run, const Value& subject, const CallArguments& arguments) {
  return has_rest(run, subject, arguments[0], 0);
}
Value even(Run& run, const Value& subject, const CallArguments&) {
  return has_rest(run, subject, std::int64_t{2}, 0);
}
Value odd(Run& run, const Value& subject, const CallArguments&) {
  return has_rest(run, subject, std::int64_t{2}, 1);
}

/// str.islower() and str.isupper(): returns true if at least one letter has the required case and
/// no letter has another case.
template <bool Lower>
Value has_case(Run& run, const Value& subject, const CallArguments&) {
  const TextPtr text = printed(run, subject);
  run.pass(Pass::convert, text->size());
  bool found = false;
  for (std::size_t at = 0; at < text->size();) {
    const auto c = static_cast<UChar32>(take_character(text->text(), at));
    const bool is_lower = u_hasBinaryProperty(c, UCHAR_LOWERCASE) != 0;
    const bool is_upper = u_hasBinaryProperty(c, UCHAR_UPPERCASE) != 0;
    if ((Lower ? is_upper : is_lower) || u_istitle(c) != 0) return false;
    found = found || (Lower ? is_lower : is_upper);
  }
  return found;
}

template <const Builtin* (*Find)(std::string_view)>
Value is_known(Run& run, const Value& subject, const CallArguments&) {
  return Find(text_argument(run, subject, "name").text()) != nullptr;
}

Value undefined_test(Run&, const Value& subject, const CallArguments&) {
  return is<Undefined>(subject);
}

constexpr Builtin compares(std::string_view name, Builtin::Call call) {
  return {.name = name, .parameters = {"other"}, .required = 1, .call = call};
}

}  // namespace

std::span<const Builtin> value_tests() {
  static constexpr Builtin kTests[] = {
      compares("!=", differs),
      compares("<", less),
      compares("<=", at_most),
      compares("==", equals),
      compares(">", greater),
      compares(">=", at_least),
      {.name = "boolean", .call = has_type<bool>},
      {.name = "callable", .call = has_type<const Builtin*>},
      {.name = "defined", .call = defined},
      {.name = "divisibleby", .parameters = {"num"}, .required = 1, .call = divisible},
      compares("eq", equals),
      compares("equalto", equals),
      {.name = "even", .call = even},
      {.name = "false", .call = is_flag<false>},
      {.name = "filter", .call = is_known<find_filter>},
      {.name = "float", .call = has_type<double>},
      compares("ge", at_least),
      compares("greaterthan", greater),
      compares("gt", greater),
      compares("in", is_in),
      {.name = "integer", .call = has_type<std::int64_t>},
      {.name = "iterable", .call = iterable},
      compares("le", at_most),
      compares("lessthan", less),
      {.name = "lower", .call = has_case<true>},
      compares("lt", less),
      {.name = "mapping", .call = has_type<MappingPtr>},
      compares("ne", differs),
      {.name = "none", .call = has_type<None>},
      {.name = "number", .call = has_type<bool, std::int64_t, double>},
      {.name = "odd", .call = odd},
      compares("sameas", same_as),
      {.name = "sequence", .call = is_sequence},
      {.name = "string", .call = has_type<TextPtr>},
      {.name = "test", .call = is_known<find_test>},
      {.name = "true", .call = is_flag<true>},
      {.name = "undefined", .call = undefined_test},
      {.name = "upper", .call = has_case<false>},
  };
  return kTests;
}

const Builtin* find_test(std::string_view name) { return find_in(value_tests(), name); }

}  // namespace weft::chat
