#include "weft/models/text/jinja/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/core/excerpt.h"
#include "weft/models/text/jinja/access.h"
#include "weft/models/text/jinja/operators.h"
#include "weft/models/text/jinja/print.h"

namespace weft::chat {
namespace {

struct Scope;

/// A macro and the scope in which it was defined. The macro can read the variables of that scope.
struct Definition {
  const Macro* macro;
  Scope* scope;
};

/// The variables of a loop iteration, a macro call or the whole template.
struct Scope {
  explicit Scope(Scope* around) : parent(around) {}

  using Binding = std::variant<Value, Definition>;
  Scope* parent;
  std::vector<std::pair<std::string_view, Binding>> bindings;

  void set(std::string_view name, Binding binding) {
    for (auto& [known, value] : bindings) {
      if (known == name) {
        value = std::move(binding);
        return;
      }
    }
    bindings.emplace_back(name, std::move(binding));
  }
};

/// Comparing this number of names counts as one step. The lexer limits the size of names.
constexpr std::size_t kComparedNames = 8;

enum class Flow : std::uint8_t { normal, break_loop, continue_loop };

class Interpreter {
 public:
  Interpreter(const Mapping& variables, Run& run) : variables_(variables), run_(run) {}

  Flow execute(const Body& body, Scope& scope, TracedText& out) {
    const Run::Level level(run_);
    for (const auto& statement : body) {
      run_.place = statement->place;
      run_.step();
      const Flow flow = std::visit(
          [&](const auto& node) { return do_statement(node, statement->place, scope, out); },
          statement->node);
      if (flow != Flow::normal) return flow;
    }
    return Flow::normal;
  }

 private:
  /// The state of an active loop. Items are filtered lazily.
  class Loop {
   public:
    Loop(Interpreter& interpreter, const For& node, std::vector<Value> items, Scope& scope)
        : kept(node.kept),
          interpreter_(interpreter),
          node_(node),
          items_(std::move(items)),
          scope_(scope),
          outer_(interpreter.loop_) {}

    bool advance() {
      ++index;
      return has(index);
    }
    /// Returns true if the loop has an iteration with the index `turn`.
    bool has(std::size_t turn) {
      while (turn >= turns_.size()) {
        if (!fetch()) return false;
      }
      return true;
    }
    const Value& item(std::size_t turn) const { return turns_[turn]; }
    std::size_t length() {
      while (fetch()) {
      }
      return turns_.size();
    }
    bool ran() const { return !turns_.empty(); }
    Loop* outer() const { return outer_; }

    std::size_t index = static_cast<std::size_t>(-1);
    // Previous values; one entry per call of loop.changed().
    std::vector<std::optional<std::vector<Value>>> kept;

   private:
    bool fetch() {
      while (next_ < items_.size()) {
        const Value& item = items_[next_++];
        if (node_.condition != nullptr && !passes(item)) continue;
        turns_.push_back(item);
        return true;
      }
      return false;
    }
    bool passes(const Value& item) {
      Loop* const inner = std::exchange(interpreter_.loop_, outer_);
      Scope scope(&scope_);
      interpreter_.assign(node_.targets, item, scope);
      const bool holds = truth(interpreter_.evaluate(*node_.condition, scope));
      interpreter_.loop_ = inner;
      return holds;
    }

    Interpreter& interpreter_;
    const For& node_;
    const std::vector<Value> items_;
    std::size_t next_ = 0;
    std::vector<Value> turns_;  // items that satisfy the condition
    Scope& scope_;
    Loop* const outer_;
  };

  // Statements.

  Flow do_statement(const Data& node, Place, Scope&, TracedText& out) {
    run_.make_bytes(node.text.size());
    out.append(node.text);
    return Flow::normal;
  }
  Flow do_statement(const Print& node, Place place, Scope& scope, TracedText& out) {
    const Value value = evaluate(*node.value, scope);
    run_.place = place;
    print_counted(value, out);
    return Flow::normal;
  }
  Flow do_statement(const If& node, Place, Scope& scope, TracedText& out) {
    for (const auto& [condition, body] : node.branches) {
      if (truth(evaluate(*condition, scope))) return execute(body, scope, out);
    }
    return execute(node.otherwise, scope, out);
  }
  Flow do_statement(const For& node, Place place, Scope& scope, TracedText& out) {
    const Value items = evaluate(*node.items, scope);
    run_.place = place;
    Loop loop(*this, node, items_of(run_, items), scope);
    loop_ = &loop;
    while (loop.advance()) {
      run_.place = place;
      Scope turn(&scope);
      assign(node.targets, loop.item(loop.index), turn);
      if (execute(node.body, turn, out) == Flow::break_loop) break;
    }
    loop_ = loop.outer();
    if (loop.ran()) return Flow::normal;
    Scope otherwise(&scope);
    return execute(node.otherwise, otherwise, out);
  }
  Flow do_statement(const Set& node, Place place, Scope& scope, TracedText&) {
    const Value value = evaluate(*node.value, scope);
    run_.place = place;
    assign(node.targets, value, scope);
    return Flow::normal;
  }
  Flow do_statement(const SetField& node, Place place, Scope& scope, TracedText&) {
    Value value = evaluate(*node.value, scope);
    run_.place = place;
    set_field(node.space, node.field, std::move(value), scope);
    return Flow::normal;
  }
  Flow do_statement(const SetBlock& node, Place place, Scope& scope, TracedText&) {
    TracedText text;
    Scope inner(&scope);
    if (const Flow flow = execute(node.body, inner, text); flow != Flow::normal) return flow;
    Value value = std::make_shared<const TracedText>(std::move(text));
    for (const BuiltinCall& filter : node.filters) {
      auto [positional, named] = evaluate(filter.arguments, scope);
      run_.place = place;
      value = call(run_, *filter.builtin, value, std::move(positional), std::move(named));
    }
    if (node.field.empty()) {
      bind(scope, node.target, std::move(value));
    } else {
      run_.place = place;
      set_field(node.target, node.field, std::move(value), scope);
    }
    return Flow::normal;
  }
  Flow do_statement(const Macro& node, Place, Scope& scope, TracedText&) {
    bind(scope, node.name, Definition{&node, &scope});
    return Flow::normal;
  }
  Flow do_statement(const Generation& node, Place, Scope& scope, TracedText& out) {
    TracedText text;
    Scope inner(&scope);
    const Flow flow = execute(node.body, inner, text);
    run_.pass(Pass::search, text.footprint());
    text.set_generated();
    out.append(text);
    return flow;
  }
  Flow do_statement(const Break&, Place, Scope&, TracedText&) { return Flow::break_loop; }
  Flow do_statement(const Continue&, Place, Scope&, TracedText&) { return Flow::continue_loop; }

  void print_counted(const Value& value, TracedText& out) {
    const std::size_t before = out.footprint();
    print(run_, value, out);
    run_.make_bytes(out.footprint() - before);
  }

  void assign(const std::vector<std::string>& targets, const Value& value, Scope& scope) {
    if (targets.size() == 1) {
      bind(scope, targets.front(), value);
      return;
    }
    require_defined(run_, value);
    std::vector<Value> parts = items_of(run_, value);
    if (parts.size() != targets.size()) {
      run_.fail(fmt::format("{} of {} items cannot be unpacked into {} variables", kind_of(value),
                            parts.size(), targets.size()));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) bind(scope, targets[i], std::move(parts[i]));
  }

  void bind(Scope& scope, std::string_view name, Scope::Binding binding) {
    run_.step(1 + scope.bindings.size() / kComparedNames);
    scope.set(name, std::move(binding));
  }

  void set_field(const std::string& name, const std::string& field, Value value, Scope& scope) {
    const Value found = variable(name, scope);
    require_defined(run_, found);
    const auto* space = as<Namespace*>(found);
    if (space == nullptr)
      run_.fail(fmt::format("'{}' is {}; only fields of a namespace can be assigned", name,
                            kind_of(found)));
    run_.set((*space)->fields, std::make_shared<const TracedText>(field), std::move(value));
  }

  // Expressions.

  const Scope::Binding* find(std::string_view name, Scope& scope) {
    std::size_t compared = 0;
    const Scope::Binding* found = nullptr;
    for (Scope* at = &scope; at != nullptr && found == nullptr; at = at->parent) {
      const auto known = std::find_if(at->bindings.begin(), at->bindings.end(),
                                      [&](const auto& binding) { return binding.first == name; });
      compared += 1 + static_cast<std::size_t>(known - at->bindings.begin());
      if (known != at->bindings.end()) found = &known->second;
    }
    run_.step(compared / kComparedNames);
    return found;
  }

  Value variable(std::string_view name, Scope& scope) {
    if (const Scope::Binding* binding = find(name, scope)) {
      if (const auto* value = std::get_if<Value>(binding)) return *value;
      run_.fail(fmt::format("'{}' is a macro and must be called", excerpt(name)));
    }
    if (const Value* value = run_.find(variables_, name)) return *value;
    if (const Builtin* function = find_function(name)) return function;
    return undefined(fmt::format("'{}' is undefined", excerpt(name)));
  }

  Value evaluate(const Expression& expression, Scope& scope) {
    const Run::Level level(run_);
    return std::visit(
        [&](const auto& node) { return do_expression(node, expression.place, scope); },
        expression.node);
  }
  Value evaluate_or_none(const ExpressionPtr& expression, Scope& scope) {
    return expression == nullptr ? Value(None()) : evaluate(*expression, scope);
  }
  std::vector<Value> evaluate(const std::vector<ExpressionPtr>& expressions, Scope& scope) {
    std::vector<Value> values;
    values.reserve(expressions.size());
    for (const ExpressionPtr& expression : expressions)
      values.push_back(evaluate(*expression, scope));
    return values;
  }
  using Given = std::pair<std::vector<Value>, std::vector<std::pair<std::string, Value>>>;
  Given evaluate(const Arguments& arguments, Scope& scope) {
    Given given = {evaluate(arguments.positional, scope), {}};
    for (const auto& [name, value] : arguments.named)
      given.second.emplace_back(name, evaluate(*value, scope));
    return given;
  }

  Value do_expression(const Constant& node, Place, Scope&) { return node.value; }
  Value do_expression(const Name& node, Place place, Scope& scope) {
    run_.place = place;
    return variable(node.name, scope);
  }
  Value do_expression(const SequenceLiteral& node, Place place, Scope& scope) {
    std::vector<Value> items = evaluate(node.items, scope);
    run_.place = place;
    return run_.sequence(node.kind, std::move(items));
  }
  Value do_expression(const MappingLiteral& node, Place place, Scope& scope) {
    Mapping mapping;
    for (const auto& [key, value] : node.entries) {
      const Value name = evaluate(*key, scope);
      Value item = evaluate(*value, scope);
      run_.place = place;
      require_defined(run_, name);
      const auto* text = as<TextPtr>(name);
      if (text == nullptr)
        run_.fail(fmt::format("the keys of a dict must be strings, not {}", kind_of(name)));
      run_.set(mapping, *text, std::move(item));
    }
    return run_.mapping(std::move(mapping));
  }
  Value do_expression(const Attribute& node, Place place, Scope& scope) {
    const Value object = evaluate(*node.object, scope);
    run_.place = place;
    return attribute_of(run_, object, node.name);
  }
  Value do_expression(const Item& node, Place place, Scope& scope) {
    const Value object = evaluate(*node.object, scope);
    const Value key = evaluate(*node.key, scope);
    run_.place = place;
    return item_of(run_, object, key);
  }
  Value do_expression(const Slice& node, Place place, Scope& scope) {
    const Value object = evaluate(*node.object, scope);
    const Value begin = evaluate_or_none(node.begin, scope);
    const Value end = evaluate_or_none(node.end, scope);
    const Value step = evaluate_or_none(node.step, scope);
    run_.place = place;
    return slice_of(run_, object, begin, end, step);
  }
  Value do_expression(const LoopAttribute& node, Place place, Scope&) {
    run_.place = place;
    Loop& loop = *loop_;
    const auto number = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    switch (node.field) {
      case LoopField::index: return number(loop.index + 1);
      case LoopField::index0: return number(loop.index);
      case LoopField::revindex: return number(loop.length() - loop.index);
      case LoopField::revindex0: return number(loop.length() - loop.index - 1);
      case LoopField::first: return loop.index == 0;
      case LoopField::last: return !loop.has(loop.index + 1);
      case LoopField::length: return number(loop.length());
      case LoopField::previtem:
        return loop.index > 0 ? loop.item(loop.index - 1) : undefined("there is no previous item");
      case LoopField::nextitem:
        return loop.has(loop.index + 1) ? loop.item(loop.index + 1)
                                        : undefined("there is no next item");
      case LoopField::depth: return std::int64_t{1};
      case LoopField::depth0: return std::int64_t{0};
    }
    return None();
  }
  Value do_expression(const LoopCall& node, Place place, Scope& scope) {
    std::vector<Value> values = evaluate(node.arguments.positional, scope);
    run_.place = place;
    if (node.cycle) return values[loop_->index % values.size()];
    auto& kept = loop_->kept[node.place];
    bool same = kept.has_value() && kept->size() == values.size();
    for (std::size_t i = 0; same && i < values.size(); ++i)
      same = equal(run_, (*kept)[i], values[i]);
    if (!same) kept = std::move(values);
    return !same;
  }
  Value do_expression(const Not& node, Place, Scope& scope) {
    return !truth(evaluate(*node.operand, scope));
  }
  Value do_expression(const Signed& node, Place place, Scope& scope) {
    const Value operand = evaluate(*node.operand, scope);
    run_.place = place;
    return signed_value(run_, operand, node.negative);
  }
  Value do_expression(const Logic& node, Place, Scope& scope) {
    Value left = evaluate(*node.left, scope);
    return truth(left) == node.both ? evaluate(*node.right, scope) : left;
  }
  Value do_expression(const Calculation& node, Place place, Scope& scope) {
    const Value left = evaluate(*node.left, scope);
    const Value right = evaluate(*node.right, scope);
    run_.place = place;
    return calculate(run_, node.operation, left, right);
  }
  Value do_expression(const Concatenation& node, Place place, Scope& scope) {
    TracedText text;
    for (const Value& part : evaluate(node.parts, scope)) {
      run_.place = place;
      print_counted(part, text);
    }
    return std::make_shared<const TracedText>(std::move(text));
  }
  Value do_expression(const ComparisonChain& node, Place place, Scope& scope) {
    Value left = evaluate(*node.first, scope);
    for (const auto& [operation, expression] : node.rest) {
      Value right = evaluate(*expression, scope);
      run_.place = place;
      if (!holds(operation, left, right)) return false;
      left = std::move(right);
    }
    return true;
  }
  bool holds(Comparison operation, const Value& left, const Value& right) {
    switch (operation) {
      case Comparison::equal: return equal(run_, left, right);
      case Comparison::differs: return !equal(run_, left, right);
      case Comparison::less: return compare(run_, left, right, "<") < 0;
      case Comparison::at_most: return compare(run_, left, right, "<=") <= 0;
      case Comparison::greater: return compare(run_, left, right, ">") == 1;
      case Comparison::at_least: {
        const int order = compare(run_, left, right, ">=");
        return order == 0 || order == 1;
      }
      case Comparison::in: return contains(run_, right, left);
      case Comparison::not_in: return !contains(run_, right, left);
    }
    return false;
  }
  Value do_expression(const Conditional& node, Place, Scope& scope) {
    if (truth(evaluate(*node.condition, scope))) return evaluate(*node.value, scope);
    if (node.otherwise != nullptr) return evaluate(*node.otherwise, scope);
    return undefined("the condition of an 'if' without 'else' is false");
  }
  Value do_expression(const BuiltinCall& node, Place place, Scope& scope) {
    const Value subject = evaluate_or_none(node.subject, scope);
    auto [positional, named] = evaluate(node.arguments, scope);
    run_.place = place;
    Value result = call(run_, *node.builtin, subject, std::move(positional), std::move(named));
    return node.negated ? Value(!truth(result)) : result;
  }
  Value do_expression(const MethodCall& node, Place place, Scope& scope) {
    const Value object = evaluate(*node.object, scope);
    auto [positional, named] = evaluate(node.arguments, scope);
    run_.place = place;
    require_defined(run_, object);
    const Builtin* method = find_method(object, node.name);
    if (method == nullptr)
      run_.fail(fmt::format("{} has no method '{}'", kind_of(object), node.name));
    return call(run_, *method, object, std::move(positional), std::move(named));
  }
  Value do_expression(const MacroCall& node, Place place, Scope& scope) {
    Given given = evaluate(node.arguments, scope);
    run_.place = place;
    const Scope::Binding* binding = find(node.name, scope);
    const auto* definition = binding == nullptr ? nullptr : std::get_if<Definition>(binding);
    if (definition == nullptr)
      run_.fail(fmt::format("'{}' is not a macro in this scope", excerpt(node.name)));
    return call_macro(*definition->macro, *definition->scope, std::move(given), place);
  }

  Value call_macro(const Macro& macro, Scope& defined_in, Given given, Place place) {
    auto& [positional, named] = given;
    if (positional.size() > macro.parameters.size()) {
      run_.fail(fmt::format("the macro '{}' takes at most {} arguments, not {}",
                            excerpt(macro.name), macro.parameters.size(), positional.size()));
    }
    run_.step((named.size() + 1) * macro.parameters.size() / kComparedNames);
    for (const auto& argument : named) {
      const auto known =
          std::find_if(macro.parameters.begin(), macro.parameters.end(),
                       [&](const auto& parameter) { return parameter.first == argument.first; });
      if (known == macro.parameters.end() ||
          static_cast<std::size_t>(known - macro.parameters.begin()) < positional.size()) {
        run_.fail(fmt::format("the macro '{}' does not accept the argument '{}' in this call",
                              excerpt(macro.name), excerpt(argument.first)));
      }
    }
    Loop* const outer = std::exchange(loop_, nullptr);
    Scope scope(&defined_in);
    for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
      const std::string& name = macro.parameters[i].first;
      const ExpressionPtr& otherwise = macro.parameters[i].second;
      const auto by_name = std::find_if(
          named.begin(), named.end(), [&](const auto& argument) { return argument.first == name; });
      if (i < positional.size()) {
        bind(scope, name, std::move(positional[i]));
      } else if (by_name != named.end()) {
        bind(scope, name, std::move(by_name->second));
      } else if (otherwise != nullptr) {
        bind(scope, name, evaluate(*otherwise, scope));
      } else {
        bind(scope, name, undefined(fmt::format("parameter '{}' was not provided", excerpt(name))));
      }
    }
    TracedText text;
    execute(macro.body, scope, text);
    loop_ = outer;
    run_.place = place;
    return std::make_shared<const TracedText>(std::move(text));
  }

  const Mapping& variables_;
  Run& run_;
  Loop* loop_ = nullptr;
};

}  // namespace

TracedText interpret(const ParsedTemplate& parsed, const Mapping& variables, Run& run) {
  Interpreter interpreter(variables, run);
  Scope scope(nullptr);
  TracedText out;
  interpreter.execute(parsed.body, scope, out);
  return out;
}

}  // namespace weft::chat
