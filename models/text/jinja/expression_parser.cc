#include "weft/models/text/jinja/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>

#include "weft/core/excerpt.h"

namespace weft::chat {
namespace {

/// Maximum nesting depth of brackets and statements.
constexpr int kMaxNesting = 100;
// Maximum depth of an expression tree, which grows with chains of operators, filters and
// attributes.
constexpr int kMaxExpressionDepth = 200;

int depth_of(const ExpressionPtr& expression) {
  return expression == nullptr ? 0 : expression->depth;
}
int depth_of(const Arguments& arguments) {
  int depth = 0;
  for (const auto& argument : arguments.positional) depth = std::max(depth, depth_of(argument));
  for (const auto& [name, argument] : arguments.named) depth = std::max(depth, depth_of(argument));
  return depth;
}

std::optional<Comparison> comparison_of(const Token& token) {
  constexpr std::array<std::string_view, 6> kSymbols = {"==", "!=", "<", "<=", ">", ">="};
  if (token.kind != Token::Kind::symbol) return std::nullopt;
  const auto found = std::find(kSymbols.begin(), kSymbols.end(), token.text);
  if (found == kSymbols.end()) return std::nullopt;
  return static_cast<Comparison>(found - kSymbols.begin());
}

constexpr std::array<std::string_view, 11> kLoopFields = {
    "index",  "index0",   "revindex", "revindex0", "first", "last",
    "length", "previtem", "nextitem", "depth",     "depth0"};

bool is_loop(const Expression& expression) {
  const auto* name = std::get_if<Name>(&expression.node);
  return name != nullptr && name->name == "loop";
}

}  // namespace

const Token& ExpressionParser::next(std::size_t more) const {
  return tokens_[std::min(at_ + more, tokens_.size() - 1)];
}

const Token& ExpressionParser::take() {
  const Token& token = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool ExpressionParser::take_name(std::string_view name) {
  if (!sees_name(name)) return false;
  take();
  return true;
}

bool ExpressionParser::take_symbol(std::string_view symbol) {
  if (!sees(symbol)) return false;
  take();
  return true;
}

void ExpressionParser::expect(std::string_view symbol) {
  if (!take_symbol(symbol))
    fail(fmt::format("has {} where '{}' is expected", describe(now()), symbol));
}

void ExpressionParser::expect(Kind kind) {
  if (now().kind != kind)
    fail(fmt::format("has {} where {} is expected", describe(now()), describe(Token{kind})));
  take();
}

std::string ExpressionParser::expect_name() {
  if (now().kind != Kind::name)
    fail(fmt::format("has {} where a name is expected", describe(now())));
  return take().text;
}

void ExpressionParser::fail(std::string_view what) const { fail_template(now().place, what); }

void ExpressionParser::fail_unexpected() const {
  fail(fmt::format("has {} where an expression is expected", describe(now())));
}

ExpressionParser::Level::Level(ExpressionParser& parser) : parser_(parser) {
  if (parser.level_ >= kMaxNesting)
    parser.fail(fmt::format("is nested more than {} levels deep", kMaxNesting));
  ++parser.level_;
}

ExpressionPtr ExpressionParser::make(Place place, Expression::Node node, int depth_below) const {
  if (depth_below >= kMaxExpressionDepth)
    fail_template(place, fmt::format("has an expression with more than {} levels of operators",
                                     kMaxExpressionDepth));
  return std::make_unique<const Expression>(Expression{place, std::move(node), depth_below + 1});
}

void ExpressionParser::check_fit(const Builtin& builtin, const Arguments& arguments,
                                 Place place) const {
  std::vector<std::string> names;
  for (const auto& argument : arguments.named) names.push_back(argument.first);
  const std::string why = argument_mismatch(builtin, arguments.positional.size(), names);
  if (!why.empty()) fail_template(place, "has an invalid call: " + why);
}

void ExpressionParser::check_calls() const {
  for (const auto& [name, place] : called_) {
    if (!macros_.contains(name)) {
      fail_template(place, fmt::format("calls '{}', which is neither a chat template function "
                                       "nor a macro",
                                       excerpt(name)));
    }
  }
}

ExpressionPtr ExpressionParser::tuple() {
  const Place place = now().place;
  ExpressionPtr first = expression();
  if (!sees(",")) return first;
  SequenceLiteral literal = {Sequence::Kind::tuple, {}};
  int depth = depth_of(first);
  literal.items.push_back(std::move(first));
  while (take_symbol(",")) {
    if (sees(")") || now().kind == Kind::variable_end || now().kind == Kind::block_end) break;
    literal.items.push_back(expression());
    depth = std::max(depth, depth_of(literal.items.back()));
  }
  return make(place, std::move(literal), depth);
}

ExpressionPtr ExpressionParser::expression() {
  const Level level(*this);
  const Place place = now().place;
  ExpressionPtr value = disjunction();
  while (take_name("if")) {
    ExpressionPtr condition = disjunction();
    ExpressionPtr otherwise = take_name("else") ? expression() : nullptr;
    const int depth = std::max({depth_of(value), depth_of(condition), depth_of(otherwise)});
    value = make(place, Conditional{std::move(condition), std::move(value), std::move(otherwise)},
                 depth);
  }
  return value;
}

ExpressionPtr ExpressionParser::disjunction() {
  const Place place = now().place;
  ExpressionPtr left = conjunction();
  while (take_name("or")) {
    ExpressionPtr right = conjunction();
    const int depth = std::max(depth_of(left), depth_of(right));
    left = make(place, Logic{false, std::move(left), std::move(right)}, depth);
  }
  return left;
}

ExpressionPtr ExpressionParser::conjunction() {
  const Place place = now().place;
  ExpressionPtr left = negation();
  while (take_name("and")) {
    ExpressionPtr right = negation();
    const int depth = std::max(depth_of(left), depth_of(right));
    left = make(place, Logic{true, std::move(left), std::move(right)}, depth);
  }
  return left;
}

ExpressionPtr ExpressionParser::negation() {
  const Place place = now().place;
  if (!take_name("not")) return comparison();
  const Level level(*this);
  ExpressionPtr operand = negation();
  const int depth = depth_of(operand);
  return make(place, Not{std::move(operand)}, depth);
}

ExpressionPtr ExpressionParser::comparison() {
  const Place place = now().place;
  ComparisonChain compared = {sum(), {}};
  int depth = depth_of(compared.first);
  while (true) {
    std::optional<Comparison> operation = comparison_of(now());
    if (operation) {
      take();
    } else if (take_name("in")) {
      operation = Comparison::in;
    } else if (sees_name("not") && next().is(Kind::name, "in")) {
      take();
      take();
      operation = Comparison::not_in;
    } else {
      break;
    }
    compared.rest.emplace_back(*operation, sum());
    depth = std::max(depth, depth_of(compared.rest.back().second));
  }
  if (compared.rest.empty()) return std::move(compared.first);
  return make(place, std::move(compared), depth);
}

ExpressionPtr ExpressionParser::sum() {
  const Place place = now().place;
  ExpressionPtr left = concatenation();
  while (sees("+") || sees("-")) {
    const Arithmetic operation = take().text == "+" ? Arithmetic::add : Arithmetic::subtract;
    ExpressionPtr right = concatenation();
    const int depth = std::max(depth_of(left), depth_of(right));
    left = make(place, Calculation{operation, std::move(left), std::move(right)}, depth);
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  const Place place = now().place;
  ExpressionPtr first = product();
  if (!sees("~")) return first;
  Concatenation joined;
  int depth = depth_of(first);
  joined.parts.push_back(std::move(first));
  while (take_symbol("~")) {
    joined.parts.push_back(product());
    depth = std::max(depth, depth_of(joined.parts.back()));
  }
  return make(place, std::move(joined), depth);
}

ExpressionPtr ExpressionParser::product() {
  const Place place = now().place;
  ExpressionPtr left = unary(true);
  while (true) {
    if (sees("**")) fail("has the operator '**', which is not supported");
    Arithmetic operation = Arithmetic::multiply;
    if (sees("/")) {
      operation = Arithmetic::divide;
    } else if (sees("//")) {
      operation = Arithmetic::floor_divide;
    } else if (sees("%")) {
      operation = Arithmetic::modulo;
    } else if (!sees("*")) {
      return left;
    }
    take();
    ExpressionPtr right = unary(true);
    const int depth = std::max(depth_of(left), depth_of(right));
    left = make(place, Calculation{operation, std::move(left), std::move(right)}, depth);
  }
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const Place place = now().place;
  ExpressionPtr value;
  if (sees("-") || sees("+")) {
    const Level level(*this);
    const bool negative = take().text == "-";
    ExpressionPtr operand = unary(false);
    const int depth = depth_of(operand);
    value = make(place, Signed{negative, std::move(operand)}, depth);
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  // The loop itself is not a value.
  if (is_loop(*value))
    fail_template(place,
                  "uses 'loop' as a value; only its fields, such as loop.index, are supported");
  return with_filters ? filters(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::primary() {
  const Token token = now();
  const auto constant = [&](Value value) {
    return make(token.place, Constant{std::move(value)}, 0);
  };
  switch (token.kind) {
    case Kind::name:
      take();
      if (token.text == "true" || token.text == "True") return constant(true);
      if (token.text == "false" || token.text == "False") return constant(false);
      if (token.text == "none" || token.text == "None") return constant(None());
      if (token.text == "caller" || token.text == "varargs" || token.text == "kwargs")
        fail_template(
            token.place,
            fmt::format("uses the macro variable '{}', which is not supported", token.text));
      return make(token.place, Name{token.text}, 0);
    case Kind::text: {
      std::string text;
      while (now().kind == Kind::text) text += take().text;
      return constant(text_value(std::move(text)));
    }
    case Kind::integer: {
      take();
      std::int64_t number = 0;
      const char* const end = token.text.data() + token.text.size();
      if (std::from_chars(token.text.data(), end, number).ec != std::errc())
        fail_template(token.place, fmt::format("has the number '{}', which exceeds 64 bits",
                                               excerpt(token.text)));
      return constant(number);
    }
    case Kind::floating: {
      take();
      double number = 0;
      const char* const end = token.text.data() + token.text.size();
      if (std::from_chars(token.text.data(), end, number).ec != std::errc())
        fail_template(token.place, fmt::format("has the number '{}', which is out of range",
                                               excerpt(token.text)));
      return constant(number);
    }
    case Kind::symbol: break;
    default: fail_unexpected();
  }
  if (sees("[")) return list_literal();
  if (sees("{")) return mapping_literal();
  if (!take_symbol("(")) fail_unexpected();
  if (take_symbol(")")) return make(token.place, SequenceLiteral{Sequence::Kind::tuple, {}}, 0);
  ExpressionPtr inner = tuple();
  expect(")");
  return inner;
}

ExpressionPtr ExpressionParser::list_literal() {
  const Place place = take().place;
  SequenceLiteral literal;
  int depth = 0;
  while (!sees("]")) {
    literal.items.push_back(expression());
    depth = std::max(depth, depth_of(literal.items.back()));
    if (!take_symbol(",")) break;
  }
  expect("]");
  return make(place, std::move(literal), depth);
}

ExpressionPtr ExpressionParser::mapping_literal() {
  const Place place = take().place;
  MappingLiteral literal;
  int depth = 0;
  while (!sees("}")) {
    ExpressionPtr key = expression();
    expect(":");
    ExpressionPtr value = expression();
    depth = std::max({depth, depth_of(key), depth_of(value)});
    literal.entries.emplace_back(std::move(key), std::move(value));
    if (!take_symbol(",")) break;
  }
  expect("}");
  return make(place, std::move(literal), depth);
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr object) {
  while (true) {
    if (sees(".")) {
      object = attribute(std::move(object));
    } else if (sees("[")) {
      object = subscript(std::move(object));
    } else if (sees("(")) {
      object = call(std::move(object));
    } else {
      return object;
    }
  }
}

ExpressionPtr ExpressionParser::loop_attribute(const Expression& loop) {
  const Token token = take();
  if (enclosing_.loops == 0) fail_template(loop.place, "uses 'loop' outside of a loop");
  if (token.text == "cycle" || token.text == "changed") {
    LoopCall called = {token.text == "cycle", arguments(), 0};
    if (!called.arguments.named.empty() || (called.cycle && called.arguments.positional.empty()))
      fail_template(token.place, fmt::format("calls loop.{} with named arguments or without values",
                                             token.text));
    if (!called.cycle) called.place = (*enclosing_.kept.back())++;
    const int depth = depth_of(called.arguments);
    return make(loop.place, std::move(called), depth);
  }
  const auto field = std::find(kLoopFields.begin(), kLoopFields.end(), token.text);
  if (field == kLoopFields.end()) {
    fail_template(token.place,
                  fmt::format("uses 'loop.{}', which is not supported", excerpt(token.text)));
  }
  return make(loop.place, LoopAttribute{static_cast<LoopField>(field - kLoopFields.begin())}, 0);
}

ExpressionPtr ExpressionParser::attribute(ExpressionPtr object) {
  const Place place = take().place;
  const int depth = depth_of(object);
  if (now().kind == Kind::integer) {
    ExpressionPtr key = primary();
    return make(place, Item{std::move(object), std::move(key)}, depth);
  }
  if (now().kind != Kind::name)
    fail(fmt::format("has {} where a name is expected", describe(now())));
  if (is_loop(*object)) return loop_attribute(*object);
  const Token name = take();
  if (!sees("(")) return make(place, Attribute{std::move(object), name.text}, depth);
  // Methods cannot be used without calling them.
  if (!is_method(name.text)) {
    fail_template(name.place,
                  fmt::format("calls the method '{}', which is not supported", excerpt(name.text)));
  }
  MethodCall called = {std::move(object), name.text, arguments()};
  const int below = std::max(depth, depth_of(called.arguments));
  return make(name.place, std::move(called), below);
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr object) {
  const Place place = now().place;
  const Level level(*this);
  take();
  if (is_loop(*object)) {
    if (now().kind != Kind::text)
      fail("indexes 'loop' with something other than the name of a field");
    ExpressionPtr found = loop_attribute(*object);
    expect("]");
    return found;
  }
  ExpressionPtr begin, end, step;
  const auto stops = [&] { return sees(":") || sees("]"); };
  if (!sees(":")) {
    begin = tuple();
    if (take_symbol("]")) {
      const int depth = std::max(depth_of(object), depth_of(begin));
      return make(place, Item{std::move(object), std::move(begin)}, depth);
    }
  }
  expect(":");
  if (!stops()) end = expression();
  if (take_symbol(":") && !stops()) step = expression();
  expect("]");
  const int depth = std::max({depth_of(object), depth_of(begin), depth_of(end), depth_of(step)});
  return make(place, Slice{std::move(object), std::move(begin), std::move(end), std::move(step)},
              depth);
}

Arguments ExpressionParser::arguments() {
  const Level level(*this);
  expect("(");
  Arguments arguments;
  while (!sees(")")) {
    if (sees("*") || sees("**"))
      fail(fmt::format("has '{}' in an argument list, which is not supported", now().text));
    if (now().kind == Kind::name && next().is(Kind::symbol, "=")) {
      std::string name = take().text;
      take();
      arguments.named.emplace_back(std::move(name), expression());
    } else {
      if (!arguments.named.empty()) fail("has a positional argument after a named one");
      arguments.positional.push_back(expression());
    }
    if (!take_symbol(",")) break;
  }
  expect(")");
  return arguments;
}

ExpressionPtr ExpressionParser::call(ExpressionPtr object) {
  const auto* name = std::get_if<Name>(&object->node);
  if (name == nullptr) fail("calls an expression that is not a function");
  const Place place = object->place;
  if (const Builtin* function = find_function(name->name)) {
    BuiltinCall called = {function, nullptr, arguments()};
    check_fit(*function, called.arguments, place);
    const int depth = depth_of(called.arguments);
    return make(place, std::move(called), depth);
  }
  called_.emplace_back(name->name, place);
  MacroCall called = {name->name, arguments()};
  const int depth = depth_of(called.arguments);
  return make(place, std::move(called), depth);
}

BuiltinCall ExpressionParser::filter() {
  const Place place = now().place;
  const std::string name = expect_name();
  const Builtin* found = find_filter(name);
  if (found == nullptr)
    fail_template(place,
                  fmt::format("uses the filter '{}', which is not supported", excerpt(name)));
  BuiltinCall called = {found, nullptr, sees("(") ? arguments() : Arguments()};
  check_fit(*found, called.arguments, place);
  return called;
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr object) {
  while (true) {
    const Place place = now().place;
    if (take_symbol("|")) {
      BuiltinCall called = filter();
      const int depth = std::max(depth_of(object), depth_of(called.arguments));
      called.subject = std::move(object);
      object = make(place, std::move(called), depth);
    } else if (take_name("is")) {
      object = test(std::move(object));
    } else if (sees("(")) {
      fail("calls an expression that is not a function");
    } else {
      return object;
    }
  }
}

ExpressionPtr ExpressionParser::test(ExpressionPtr subject) {
  const bool negated = take_name("not");
  const Place place = now().place;
  const std::string name = expect_name();
  const Builtin* found = find_test(name);
  if (found == nullptr)
    fail_template(place, fmt::format("uses the test '{}', which is not supported", excerpt(name)));
  Arguments given;
  const bool begins_value = now().kind == Kind::name || now().kind == Kind::text ||
                            now().kind == Kind::integer || now().kind == Kind::floating ||
                            sees("[") || sees("{");
  if (sees("(")) {
    given = arguments();
  } else if (begins_value && !sees_name("else") && !sees_name("or") && !sees_name("and")) {
    if (sees_name("is"))
      fail("applies a test to the result of a test; put the first test in parentheses");
    given.positional.push_back(postfix(primary()));
  }
  check_fit(*found, given, place);
  const int depth = std::max(depth_of(subject), depth_of(given));
  return make(place, BuiltinCall{found, std::move(subject), std::move(given), negated}, depth);
}

}  // namespace weft::chat
