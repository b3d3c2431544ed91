// Op records. A record contains all information about one version of an op. Passes, the planner,
// the loader and the tests query the record, so there is no switch over all ops.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/shape.h"
#include "weft/core/tensor.h"
#include "weft/ops/attribute.h"
#include "weft/ops/kernel.h"
#include "weft/ops/record_function.h"
#include "weft/ops/row_kernel.h"

namespace WEFT_API weft {

class Graph;            // graph/ir/graph.h
class GradientContext;  // autodiff/rule.h
class Node;             // graph/ir/value.h
class OpSet;
class Value;  // graph/ir/value.h

/// The element type and the symbolic shape of a value.
struct ValueType {
  DType dtype = DType::f32;
  Shape shape = {};  // a scalar
  /// Returns, for example, "f32[batch, 64]".
  std::string str() const;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

/// Determines whether two Dims are equal, given the equalities that the user has declared with
/// Graph::require.
class DimFacts {
 public:
  virtual ~DimFacts() = default;
  /// Returns true if the declared equalities prove that the two sizes are equal in every run.
  virtual bool equal(const Dim& a, const Dim& b) const { return a == b; }
};

/// The interface through which the shape rules of ops with bodies access the functions of a graph.
class BodyTypes {
 public:
  virtual ~BodyTypes() = default;
  /// Returns the output types of the function `name` for operands of these types; null denotes an
  /// absent operand. Throws ArgumentError, DTypeError or ShapeError if the types do not match the
  /// inputs of the function.
  virtual std::vector<ValueType> outputs(const std::string& name,
                                         const std::vector<const ValueType*>& operands) const = 0;
};

/// The argument of a shape rule. Shape rules throw ShapeError, DTypeError or ArgumentError with a
/// message that states the error and the valid values; the graph adds the op, the operand types and
/// the source line of the call.
class InferContext {
 public:
  /// `bodies` is null outside a graph. `ops` is the op set of the graph; null selects Weft's
  /// built-in ops.
  InferContext(std::string_view op, std::vector<const ValueType*> inputs,
               const Attributes& attributes, const DimFacts& facts, const OpSet* ops = nullptr,
               const BodyTypes* bodies = nullptr)
      : op_(op),
        inputs_(std::move(inputs)),
        attributes_(attributes),
        facts_(facts),
        ops_(ops),
        bodies_(bodies) {}

  std::string_view op() const { return op_; }
  int input_count() const { return static_cast<int>(inputs_.size()); }
  /// Returns true if operand `i`, which may be optional, is present.
  bool has(int i) const {
    return i < input_count() && inputs_[static_cast<std::size_t>(i)] != nullptr;
  }
  /// Return the type, dtype, shape or rank of operand `i`, which must be present.
  const ValueType& input(int i) const { return *inputs_[static_cast<std::size_t>(i)]; }
  DType dtype(int i) const { return input(i).dtype; }
  const Shape& shape(int i) const { return input(i).shape; }
  int rank(int i) const { return shape(i).rank(); }
  const Attributes& attributes() const { return attributes_; }
  /// Returns the op set in which op names in attributes are looked up.
  const OpSet* ops() const { return ops_; }
  /// Returns true if two sizes, or all sizes of two shapes, are provably equal.
  bool equal(const Dim& a, const Dim& b) const { return facts_.equal(a, b); }
  bool equal(const Shape& a, const Shape& b) const;
  /// Returns the output types of the function named by the attribute `body` for these operands.
  std::vector<ValueType> body_outputs(std::string_view body,
                                      const std::vector<const ValueType*>& operands) const;

  /// Common checks for shape rules. They throw ShapeError or DTypeError if operand `i` (or `a` and
  /// `b`) does not satisfy the requirement. `what` names the operand in the message, for example
  /// "weight".
  void require_rank(int i, int rank, std::string_view what) const;
  void require_min_rank(int i, int rank, std::string_view what) const;
  void require_dtype(int i, DType dtype, std::string_view what) const;
  void require_floating(int i, std::string_view what) const;
  void require_index(int i, std::string_view what) const;  // i32 or i64
  void require_same_dtype(int a, int b) const;
  void require_equal(const Dim& a, const Dim& b, std::string_view what) const;
  void require_shape(int i, const Shape& shape, std::string_view what) const;
  /// Returns the broadcast of two shapes according to the NumPy rules. A symbol is never treated as
  /// 1. Throws ShapeError, naming the axis and both dims, if the shapes do not broadcast.
  Shape broadcast(const Shape& a, const Shape& b) const;

 private:
  std::string_view op_;
  std::vector<const ValueType*> inputs_;
  const Attributes& attributes_;
  const DimFacts& facts_;
  const OpSet* ops_;
  const BodyTypes* bodies_;
};

/// The number of values that an input accepts.
enum class Arity { required, optional, variadic };

/// An operand declared by a record.
struct InputSpec {
  std::string name;
  Arity arity = Arity::required;
};

/// An attribute of an op. The default value determines its type. Required attributes have a
/// placeholder of this type as default.
struct AttributeSpec {
  std::string name;
  Attribute default_value = {};
  bool required = false;
};

/// Properties of an op that passes and the planner use. They can be combined with |.
enum class Trait : std::uint32_t {
  none = 0,
  leaf = 1,         // input, variable, constant: no kernel
  elementwise = 2,  // out[i] depends only on element i of the broadcast inputs
  commutative = 4,  // the first two inputs may be swapped
  alias = 8,        // the output shares the first input's memory but has another shape: no kernel
  random = 16,      // has an attribute `stream` and an input `key`
  opaque = 32,      // passes neither fold this op nor simplify through it (optimization_barrier)
  collective = 64,  // all ranks of a world participate, in Kernel::exchange if `ranks` > 1
};
constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

/// Specifies how an op is differentiated.
enum class Gradient {
  rule,           // by OpRecord::rule or, for built-in ops, a rule in autodiff/rules
  decomposition,  // by OpRecord::definition or a definition in autodiff/rules
  none,           // not differentiable, see `no_gradient_reason`; gradients stop here
};

/// Returns one gradient per input, in order. A gradient that is undefined, or omitted at the end of
/// the list, is zero or not needed. The gradient of an elementwise op may have the broadcast shape
/// of the output, because the gradient transform sums it to the shape of the input. The gradient of
/// a 16-bit input may be f32 or f64, because the gradient transform rounds the sum of all
/// contributions. GradientContext is declared in autodiff/rule.h.
using GradientRule = RecordFunction<std::vector<Value>(const GradientContext& context)>;

/// Rebuilds `node` from primitive ops on `inputs`. The inputs may belong to a different graph, so
/// an implementation must create nodes in the graph of the inputs and use only the attributes of
/// `node`. Returns one value per output. An output that does not exist because an optional input is
/// absent may be undefined.
using Decomposition = RecordFunction<std::vector<Value>(
    const Node& node, const std::vector<Value>& inputs, Graph& graph)>;

/// The cost of a node: the number of floating-point operations and the number of bytes read and
/// written.
struct Cost {
  double flops = 0;
  double bytes = 0;  // read and written
};

/// A valid use of an op, for the tests that every op must pass.
struct OpSample {
  std::vector<Tensor> inputs = {};  // an undefined Tensor denotes an absent optional input
  Attributes attributes = {};
  /// Inputs to exclude from gradient checks (for example at a kink).
  std::vector<int> skip_gradient = {};
};

/// An invalid use of an op, and a fragment of the expected error message.
struct OpErrorSample {
  std::vector<ValueType> inputs = {};
  Attributes attributes = {};
  std::string message = {};
};

/// The definition of one version of an op. The functions in a record may have captures and are
/// called concurrently from several threads.
struct OpRecord {
  std::string name = {};
  int version = 1;
  std::string doc = {};  // the semantics in one or two lines, with the formula or the reference
  std::vector<InputSpec> inputs = {};
  std::vector<AttributeSpec> attributes = {};
  std::vector<std::string> outputs = {"out"};
  Trait traits = Trait::none;
  /// The attributes that name functions of the graph (for calls, loops and branches). An op with
  /// bodies has no kernel: either a pass inlines the body or a plan runs it.
  std::vector<std::string> bodies = {};
  /// Outputs that may overwrite an input with the same number of bytes, as pairs {output, input}.
  /// The planner uses a pair only if the input has no later reader and both have the same sizes and
  /// element size.
  std::vector<std::pair<int, int>> inplace = {};
  /// Returns the dtypes and shapes of the outputs, with one entry per output. An output that does
  /// not exist because an optional input is absent (for example the gradient of an absent bias) has
  /// shape [0].
  RecordFunction<std::vector<ValueType>(const InferContext&)> infer = nullptr;
  /// Creates the kernel; null for leaves and aliases.
  RecordFunction<Kernel(const KernelRequest&)> kernel = nullptr;
  /// Returns the row kernel, if the op is elementwise and has one output. elementwise::set_row and
  /// fused kernels run the row kernel. Null for all other ops and for ops that must not be part of
  /// fused chains.
  RowRule row = nullptr;
  /// Returns the cost. If null, the cost is one FLOP per output element and the bytes of all
  /// operands.
  RecordFunction<Cost(const KernelRequest&)> cost = nullptr;
  Gradient gradient = Gradient::rule;
  std::string no_gradient_reason = {};
  /// The gradient rule of a custom op. It takes precedence over the rules in a RuleSet.
  GradientRule rule = nullptr;
  /// An equivalent definition of the op in terms of primitive ops, or null. If there is no rule,
  /// this definition is differentiated. `weft/testing` compares the kernel with it.
  Decomposition definition = nullptr;
  RecordFunction<std::vector<OpSample>()> samples = nullptr;
  RecordFunction<std::vector<OpErrorSample>()> error_samples = nullptr;

  /// Returns true if the op has trait `t`.
  bool has(Trait t) const {
    return (static_cast<std::uint32_t>(traits) & static_cast<std::uint32_t>(t)) != 0;
  }
  bool has_bodies() const { return !bodies.empty(); }
  /// Returns `given` with default values added. Throws ArgumentError, listing the valid attributes,
  /// if a name or type is invalid.
  Attributes complete(const Attributes& given) const;
  /// Returns the index of the input `name`, or -1 if there is none.
  int input_index(std::string_view name) const;
};

/// A copyable set of op records. The built-in records are listed explicitly (builtin_ops). To add
/// their own ops, users pass a set created by with_ops to Graph, load_checkpoint and parse_text.
class OpSet {
 public:
  /// Adds a record. Throws ArgumentError if a record with the same name and version already exists,
  /// if the record has no name, no shape rule or no kernel (unless the op needs none), or if the
  /// name is invalid.
  void add(OpRecord record);
  /// Return the newest version, or the given version, of the op; null if it does not exist.
  const OpRecord* find(std::string_view name) const;
  const OpRecord* find(std::string_view name, int version) const;
  /// Returns the newest version of the op `name`. If there is none, throws ArgumentError with the
  /// closest known name.
  const OpRecord& at(std::string_view name) const;
  /// Returns all records, ordered by name and then by version.
  std::vector<const OpRecord*> all() const;

 private:
  std::vector<std::shared_ptr<const OpRecord>> records_;  // sorted by (name, version)
};

/// Returns Weft's built-in ops.
std::shared_ptr<const OpSet> builtin_ops();
/// Returns a set with the ops of `base` and `records`. Throws ArgumentError under the same
/// conditions as OpSet::add.
std::shared_ptr<const OpSet> with_ops(std::vector<OpRecord> records,
                                      std::shared_ptr<const OpSet> base = builtin_ops());

/// Runs the shape rule, the data check and the kernel of one op on the calling thread, for constant
/// folding, tests and samples. Absent optional inputs are passed as undefined Tensors.
std::vector<Tensor> evaluate_op(const OpRecord& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes = {});

}  // namespace weft
