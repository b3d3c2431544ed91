#include "weft/tests/random_programs/make_function.h"

#include <algorithm>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/control/call.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/ir/clone.h"
#include "weft/tests/random_programs/idioms.h"

namespace weft::testing {
namespace {

/// Creates a function with the types of existing values, and one or more calls of the function.
class FunctionMaker {
 public:
  FunctionMaker(Builder& builder, const GeneratorOptions& options, Coverage& coverage, int number,
                int depth = 0)
      : b_(builder),
        options_(options),
        coverage_(coverage),
        name_("f" + std::to_string(number)),
        depth_(depth) {}

  void make() {
    RandomSource& random = b_.random();
    std::vector<Value> arguments;
    for (std::int64_t i = random.from(1, 3); i > 0; --i) {
      const Value v = random.pick(b_.pool()).value;
      const auto plain = [](const Dim& d) { return d.is_constant() || d.as_symbol() != nullptr; };
      const std::vector<Tensor>& tensors = *b_.find(v);
      const bool known =
          std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.defined(); });
      if (known && std::all_of(v.shape().begin(), v.shape().end(), plain)) arguments.push_back(v);
    }
    if (random.chance(0.5)) {
      if (const Value key = b_.key(); key.defined()) {
        arguments.push_back(key);
        key_ = static_cast<int>(arguments.size()) - 1;
      }
    }
    if (arguments.empty()) return;
    Function function;
    function.name = name_;
    function.body = std::make_unique<Graph>(b_.graph().shared_ops());
    if (!fill(function, arguments)) return;
    if (random.chance(0.3)) give_gradient(function);
    b_.graph().add_function(std::move(function));
    // Calls the function repeatedly. For each call, one argument is replaced, often by a previous
    // result.
    for (int calls = 0; calls == 0 || (calls < 4 && random.chance(0.6)); ++calls) {
      const std::vector<Value> results = call_it(arguments);
      if (results.empty()) return;
      const auto i =
          static_cast<std::size_t>(random.below(static_cast<std::int64_t>(arguments.size())));
      if (static_cast<int>(i) == key_) continue;
      std::vector<Value> fitting;
      for (const Value& v : results) {
        if (v.type() == arguments[i].type() && b_.find(v) != nullptr) fitting.push_back(v);
      }
      for (const Builder::Entry& e : b_.pool()) {
        if (fitting.empty() && e.value.type() == arguments[i].type() && random.chance(0.5))
          fitting.push_back(e.value);
      }
      if (!fitting.empty()) arguments[i] = random.pick(fitting);
    }
  }

 private:
  bool fill(Function& function, const std::vector<Value>& arguments) {
    RandomSource& random = b_.random();
    Graph& body = *function.body;
    Builder inside(body, random, options_, coverage_, b_.runs());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      Shape shape;
      for (const Dim& d : arguments[i].shape())
        shape.push_back(d.is_constant() ? d : body.dim("f" + d.as_symbol()->name));
      const Value formal = body.input("a" + std::to_string(i), {arguments[i].dtype(), shape});
      function.inputs.push_back(formal);
      const std::vector<Tensor>& tensors = *b_.find(arguments[i]);
      for (std::size_t run = 0; run < b_.runs(); ++run) {
        for (int a = 0; a < formal.rank(); ++a) {
          if (const SymbolPtr s = shape[a].as_symbol()) inside.bind(s, run, tensors[run].size(a));
        }
      }
      inside.add(formal, tensors);
    }
    const std::size_t formals = inside.pool().size();
    if (key_ >= 0) inside.own_key = function.inputs[static_cast<std::size_t>(key_)];
    if (key_ >= 0) {  // the function draws random numbers
      Node* draw = inside.apply("random_uniform", {function.inputs[static_cast<std::size_t>(key_)]},
                                {{"shape", Shape{random.from(1, 5)}},
                                 {"dtype", DType::f32},
                                 {"stream", body.next_stream()}});
      if (draw != nullptr && random.chance(0.5)) function.outputs.push_back(draw->output(0));
      for (const Value& v : function.inputs) {
        if (v.dtype() != DType::f32) continue;
        Node* n = inside.apply("dropout", {v, function.inputs[static_cast<std::size_t>(key_)]},
                               {{"rate", 0.5}, {"stream", body.next_stream()}});
        if (n != nullptr) function.outputs.push_back(n->output(0));
      }
    }
    if (depth_ < 2 && random.chance(0.2)) make_function(inside, options_, coverage_, 0, depth_ + 1);
    for (std::int64_t i = random.from(1, 5); i > 0; --i)
      random.chance(0.15) ? grow_idiom(inside) : inside.grow();
    for (std::int64_t i = random.from(1, 2); i > 0; --i) {
      const auto last = static_cast<std::int64_t>(inside.pool().size()) - 1;
      if (last < static_cast<std::int64_t>(formals)) break;
      function.outputs.push_back(inside
                                     .pool()[static_cast<std::size_t>(
                                         random.from(static_cast<std::int64_t>(formals), last))]
                                     .value);
    }
    return !function.outputs.empty();
  }

  /// Gives the function a custom gradient that equals the derived one, computed from the arguments.
  void give_gradient(Function& function) {
    Function gradient;
    gradient.name = function.name + ".gradient";
    gradient.body = std::make_unique<Graph>(b_.graph().shared_ops());
    Graph& body = *gradient.body;
    body.share_symbols(*function.body);
    for (const DimEquation& e : function.body->requirements()) body.require(e);
    const auto formal = [&](const Value& like) {
      gradient.inputs.push_back(
          body.input("a" + std::to_string(gradient.inputs.size()), like.type()));
      return gradient.inputs.back();
    };
    std::vector<Value> arguments, results, cotangents;
    for (const Value& v : function.inputs) arguments.push_back(formal(v));
    for (const Value& v : function.outputs) formal(v);
    for (const Value& v : function.outputs) cotangents.push_back(formal(v));
    Cloner cloner(body);
    for (std::size_t i = 0; i < arguments.size(); ++i) cloner.set(function.inputs[i], arguments[i]);
    for (const Value& v : function.outputs) results.push_back(cloner.copy(v));
    try {
      for (const Value& argument : arguments) {
        Value sum = zeros_like(argument);
        for (std::size_t k = 0; k < results.size() && is_floating(argument.dtype()); ++k) {
          if (!is_floating(results[k].dtype())) continue;
          sum = sum + gradients(results[k], {argument},
                                {.cotangent = cotangents[k], .unreachable = Unreachable::zeros})[0];
        }
        gradient.outputs.push_back(sum);
      }
      function.gradient = gradient.name;
      ++coverage_[kCustomGradients];
      b_.graph().add_function(std::move(gradient));
    } catch (const Error&) {  // an op has no gradient
      function.gradient.clear();
    }
  }

  std::vector<Value> call_it(const std::vector<Value>& arguments) {
    try {
      const std::vector<Value> results = call(b_.graph(), name_, arguments);
      b_.evaluate_new(true);
      return results;
    } catch (const Error&) {
      return {};
    }
  }

  Builder& b_;
  const GeneratorOptions& options_;
  Coverage& coverage_;
  std::string name_;
  int depth_ = 0;
  int key_ = -1;
};

}  // namespace

void make_function(Builder& builder, const GeneratorOptions& options, Coverage& coverage,
                   int number, int depth) {
  FunctionMaker(builder, options, coverage, number, depth).make();
}

}  // namespace weft::testing
