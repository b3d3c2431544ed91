// The syntax tree of a template.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weft/models/text/jinja/builtin.h"
#include "weft/models/text/jinja/operators.h"
#include "weft/models/text/jinja/run.h"
#include "weft/models/text/jinja/value.h"

namespace weft::chat {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;
struct Statement;
using Body = std::vector<std::unique_ptr<const Statement>>;

struct Arguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
};

// Expressions.

struct Constant {
  Value value;
};
struct Name {
  std::string name;
};
struct SequenceLiteral {
  Sequence::Kind kind = Sequence::Kind::list;
  std::vector<ExpressionPtr> items;
};
struct MappingLiteral {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
struct Attribute {
  ExpressionPtr object;
  std::string name;
};
struct Item {
  ExpressionPtr object, key;
};
struct Slice {
  ExpressionPtr object, begin, end, step;  // null for omitted parts
};
/// The supported attributes of the loop object, such as loop.index. The loop object itself is not a
/// value.
enum class LoopField : std::uint8_t {
  index,
  index0,
  revindex,
  revindex0,
  first,
  last,
  length,
  previtem,
  nextitem,
  depth,
  depth0
};
struct LoopAttribute {
  LoopField field = LoopField::index;
};
/// A call of loop.cycle(...) or loop.changed(...).
struct LoopCall {
  bool cycle = true;
  Arguments arguments;
  /// The loop stores the previous value of each changed() call. This is the index of the value that
  /// belongs to this call.
  std::size_t place = 0;
};
struct Not {
  ExpressionPtr operand;
};
struct Signed {
  bool negative = false;
  ExpressionPtr operand;
};
struct Logic {
  /// True for "and"; false for "or".
  bool both = false;
  ExpressionPtr left, right;
};
struct Calculation {
  Arithmetic operation = Arithmetic::add;
  ExpressionPtr left, right;
};
/// A string concatenation: a ~ b ~ c.
struct Concatenation {
  std::vector<ExpressionPtr> parts;
};
enum class Comparison : std::uint8_t {
  equal,
  differs,
  less,
  at_most,
  greater,
  at_least,
  in,
  not_in
};
/// A chain of comparisons, for example a < b <= c.
struct ComparisonChain {
  ExpressionPtr first;
  std::vector<std::pair<Comparison, ExpressionPtr>> rest;
};
struct Conditional {
  // `otherwise` is null if there is no "else".
  ExpressionPtr condition, value, otherwise;
};
/// A call of a filter, a test or a function. A function call has no subject.
struct BuiltinCall {
  const Builtin* builtin = nullptr;
  ExpressionPtr subject;
  Arguments arguments;
  bool negated = false;  // for "is not"
};
struct MethodCall {
  ExpressionPtr object;
  std::string name;
  Arguments arguments;
};
struct MacroCall {
  std::string name;
  Arguments arguments;
};

struct Expression {
  using Node = std::variant<Constant, Name, SequenceLiteral, MappingLiteral, Attribute, Item, Slice,
                            LoopAttribute, LoopCall, Not, Signed, Logic, Calculation, Concatenation,
                            ComparisonChain, Conditional, BuiltinCall, MethodCall, MacroCall>;
  Place place;
  Node node;
  int depth = 1;  // depth of the subtree, including this node
};

// Statements.

struct Data {
  std::string text;
};
struct Print {
  ExpressionPtr value;
};
struct If {
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  Body otherwise;
};
struct For {
  std::vector<std::string> targets;  // if there are several names, each item is unpacked
  ExpressionPtr items, condition;    // `condition` may be null
  Body body, otherwise;
  /// The number of loop.changed() calls in the loop, which stores a previous value for each.
  std::size_t kept = 0;
};
struct Set {
  std::vector<std::string> targets;
  ExpressionPtr value;
};
struct SetField {
  std::string space, field;
  ExpressionPtr value;
};
/// A block assignment: {% set name | filter %}text{% endset %}.
struct SetBlock {
  /// If `field` is not empty, that field of the namespace `target` is set.
  std::string target, field;
  std::vector<BuiltinCall> filters;
  Body body;
};
struct Macro {
  std::string name;
  /// Parameter names and default values. A default value may be null.
  std::vector<std::pair<std::string, ExpressionPtr>> parameters;
  Body body;
};
struct Generation {
  Body body;
};
struct Break {};
struct Continue {};

struct Statement {
  using Node = std::variant<Data, Print, If, For, Set, SetField, SetBlock, Macro, Generation, Break,
                            Continue>;
  Place place;
  Node node;
};

}  // namespace weft::chat
