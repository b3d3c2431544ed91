// One record per op and version holds everything the framework knows about the op. Passes, the
// planner, the loader and the tests query the record; there is no switch over all ops.
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

/// Element type and symbolic shape of a value.
struct ValueType {
  DType dtype = DType::f32;
  Shape shape = {};  // a scalar
  /// "f32[batch, 64]".
  std::string str() const;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

/// Decides whether two Dims are equal, given the equalities that the user of the graph has
/// required.
class DimFacts {
 public:
  virtual ~DimFacts() = default;
  /// Returns true if the two sizes are equal in every run, as far as the requirements of the graph
  /// prove it.
  virtual bool equal(const Dim& a, const Dim& b) const { return a == b; }
};

/// The functions of a graph, as seen by the shape rules of ops that have bodies.
class BodyTypes {
 public:
  virtual ~BodyTypes() = default;
  /// Returns the output types of function `name` for operands of these types (null: absent). Throws
  /// ArgumentError, DTypeError or ShapeError if they do not match its inputs.
  virtual std::vector<ValueType> outputs(const std::string& name,
                                         const std::vector<const ValueType*>& operands) const = 0;
};

/// The argument of a shape rule. Rules throw ShapeError, DTypeError or ArgumentError with a message
/// that states what is wrong and what would be legal; the graph adds the op, the operand types and
/// the user's source line.
class InferContext {
 public:
  /// `bodies` is null outside of a graph. `ops` is the op set of the graph; null selects Weft's
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
  /// Returns true if operand `i` is present (it may be optional).
  bool has(int i) const {
    return i < input_count() && inputs_[static_cast<std::size_t>(i)] != nullptr;
  }
  /// Return the type, dtype, shape and rank of operand `i`, which must be present.
  const ValueType& input(int i) const { return *inputs_[static_cast<std::size_t>(i)]; }
  DType dtype(int i) const { return input(i).dtype; }
  const Shape& shape(int i) const { return input(i).shape; }
  int rank(int i) const { return shape(i).rank(); }
  const Attributes& attributes() const { return attributes_; }
  /// The set in which op names in attributes are looked up.
  const OpSet* ops() const { return ops_; }
  /// Returns true if two sizes, or all sizes of two shapes, are proven to be equal.
  bool equal(const Dim& a, const Dim& b) const { return facts_.equal(a, b); }
  bool equal(const Shape& a, const Shape& b) const;
  /// Returns the output types of the function that attribute `body` names, for these operands.
  std::vector<ValueType> body_outputs(std::string_view body,
                                      const std::vector<const ValueType*>& operands) const;

  /// Checks that most rules share. They throw ShapeError or DTypeError if operand `i` (or `a` and
  /// `b`) does not satisfy the requirement; `what` names the operand in the message ("weight").
  void require_rank(int i, int rank, std::string_view what) const;
  void require_min_rank(int i, int rank, std::string_view what) const;
  void require_dtype(int i, DType dtype, std::string_view what) const;
  void require_floating(int i, std::string_view what) const;
  void require_index(int i, std::string_view what) const;  // i32 or i64
  void require_same_dtype(int a, int b) const;
  void require_equal(const Dim& a, const Dim& b, std::string_view what) const;
  void require_shape(int i, const Shape& shape, std::string_view what) const;
  /// Returns the NumPy broadcast of two shapes; a symbol never counts as 1. Throws ShapeError that
  /// names the axis and both dims.
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

/// An attribute of an op. Its type is the type held by the default value; required attributes have
/// a placeholder default of that type.
struct AttributeSpec {
  std::string name;
  Attribute default_value = {};
  bool required = false;
};

/// Facts that passes and the planner use. Combined with |.
enum class Trait : std::uint32_t {
  none = 0,
  leaf = 1,         // input, variable, constant: no kernel
  elementwise = 2,  // out[i] depends on broadcast in[i] only
  commutative = 4,  // the first two inputs may be swapped
  alias = 8,        // the output is the first input's memory with another shape: no kernel
  random = 16,      // has attributes `stream` and an input `key`
  opaque = 32,      // passes neither fold nor simplify through it (optimization_barrier)
  collective = 64,  // all ranks of a world take part: Kernel::exchange if `ranks` > 1
};
constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

/// How an op is differentiated.
enum class Gradient {
  rule,           // OpRecord::rule, or for built-in ops a rule in autodiff/rules
  decomposition,  // through OpRecord::definition, or one in graph/decompositions
  none,           // not differentiable, see `no_gradient_reason`; gradients stop here
};

/// Returns one gradient per input, in order. An undefined gradient, or one omitted at the end, is
/// zero or not needed. The gradient of an elementwise op may have the broadcast shape of the
/// output: the transform sums it to the shape of the input. The gradient of a 16-bit input may be
/// f32 or f64: the transform rounds the sum of all contributions. GradientContext is in
/// autodiff/rule.h.
using GradientRule = RecordFunction<std::vector<Value>(const GradientContext& context)>;

/// Rebuilds `node` from primitives over `inputs`. The inputs may be in another graph: build in
/// their graph and use `node` for its attributes only. Returns one value per output; an output that
/// does not exist because its optional input is absent may be undefined.
using Decomposition = RecordFunction<std::vector<Value>(
    const Node& node, const std::vector<Value>& inputs, Graph& graph)>;

/// The cost of a node: floating-point operations, and bytes read and written.
struct Cost {
  double flops = 0;
  double bytes = 0;  // read and written
};

/// A legal use of an op, for the tests that every op must pass.
struct OpSample {
  std::vector<Tensor> inputs = {};  // an undefined Tensor is an absent optional input
  Attributes attributes = {};
  /// Inputs to leave out of gradient checks (for example at a kink).
  std::vector<int> skip_gradient = {};
};

/// An illegal use and a fragment of the message that it must throw.
struct OpErrorSample {
  std::vector<ValueType> inputs = {};
  Attributes attributes = {};
  std::string message = {};
};

/// Everything Weft knows about one version of an op. The functions of a record may have captures;
/// they are called from several threads concurrently.
struct OpRecord {
  std::string name = {};
  int version = 1;
  std::string doc = {};  // semantics in one or two lines, with the formula or the source
  std::vector<InputSpec> inputs = {};
  std::vector<AttributeSpec> attributes = {};
  std::vector<std::string> outputs = {"out"};
  Trait traits = Trait::none;
  /// The attributes that name functions of the graph (calls, loops, branches). Such an op has no
  /// kernel: a pass inlines the body, or a plan runs it.
  std::vector<std::string> bodies = {};
  /// Outputs that may be written over an input of the same byte size: {output, input}. The planner
  /// uses this only if the input has no later reader and both have the same sizes and element size.
  std::vector<std::pair<int, int>> inplace = {};
  /// Returns the dtypes and shapes of the outputs, one entry per output. An output that does not
  /// exist because an optional input is absent (the gradient of an absent bias) has shape [0].
  RecordFunction<std::vector<ValueType>(const InferContext&)> infer = nullptr;
  /// Makes the kernel; null for leaves and aliases.
  RecordFunction<Kernel(const KernelRequest&)> kernel = nullptr;
  /// The op on one row, if the op is elementwise with one output; elementwise::kernel and fused
  /// kernels run it. Null for all other ops, and for ops that must not be part of fused chains.
  RowRule row = nullptr;
  /// Returns FLOPs and bytes; null means one FLOP per output element and the bytes of all operands.
  RecordFunction<Cost(const KernelRequest&)> cost = nullptr;
  Gradient gradient = Gradient::rule;
  std::string no_gradient_reason = {};
  /// The gradient of a custom op. It takes precedence over the rules of a RuleSet.
  GradientRule rule = nullptr;
  /// The same op in terms of primitives, if there is such a definition. It is differentiated if
  /// there is no rule, and `weft/testing` compares the kernel with it.
  Decomposition definition = nullptr;
  RecordFunction<std::vector<OpSample>()> samples = nullptr;
  RecordFunction<std::vector<OpErrorSample>()> error_samples = nullptr;

  /// Returns true if the op has the trait.
  bool has(Trait t) const {
    return (static_cast<std::uint32_t>(traits) & static_cast<std::uint32_t>(t)) != 0;
  }
  bool has_bodies() const { return !bodies.empty(); }
  /// Returns `given` with defaults added. Checks names and types; throws ArgumentError that lists
  /// the legal attributes.
  Attributes complete(const Attributes& given) const;
  /// Returns the index of input `name`, or -1.
  int input_index(std::string_view name) const;
};

/// A set of op records, a copyable value. The built-in records are listed explicitly (builtin_ops).
/// To add their own ops, users pass a set made by with_ops to Graph, load_checkpoint and
/// parse_text.
class OpSet {
 public:
  /// Adds a record. Throws ArgumentError if (name, version) already exists, or if the record has no
  /// name, shape rule or (unless it needs none) kernel, or has an illegal name.
  void add(OpRecord record);
  /// Returns the newest version, or the given one; null if it does not exist.
  const OpRecord* find(std::string_view name) const;
  const OpRecord* find(std::string_view name, int version) const;
  /// Returns the newest version. Throws ArgumentError with the closest known name if there is none.
  const OpRecord& at(std::string_view name) const;
  /// Returns all records, ordered by name, then version.
  std::vector<const OpRecord*> all() const;

 private:
  std::vector<std::shared_ptr<const OpRecord>> records_;  // sorted by (name, version)
};

/// Returns Weft's built-in ops.
std::shared_ptr<const OpSet> builtin_ops();
/// Returns the ops of `base` and `records`. Throws ArgumentError like OpSet::add.
std::shared_ptr<const OpSet> with_ops(std::vector<OpRecord> records,
                                      std::shared_ptr<const OpSet> base = builtin_ops());

/// Runs the shape rule and the kernel of one op on the calling thread, for constant folding, tests
/// and samples. Absent optional inputs are undefined Tensors. Checks the data before running the
/// kernel.
std::vector<Tensor> evaluate_op(const OpRecord& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes = {});

}  // namespace weft
