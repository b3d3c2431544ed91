// One record per op and version: everything the framework knows about it. Passes, planner, loader
// and tests ask the record; there is no switch over all ops.
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

/// Decides whether two Dims are equal, knowing what the graph's user has required.
class DimFacts {
 public:
  virtual ~DimFacts() = default;
  /// Whether two sizes are equal in every run, by what the graph requires.
  virtual bool equal(const Dim& a, const Dim& b) const { return a == b; }
};

/// The functions of a graph, as shape rules of ops with bodies see them.
class BodyTypes {
 public:
  virtual ~BodyTypes() = default;
  /// Types of the outputs of function `name` for operands of these types (null where absent).
  /// Throws ArgumentError, DTypeError or ShapeError where they do not fit its inputs.
  virtual std::vector<ValueType> outputs(const std::string& name,
                                         const std::vector<const ValueType*>& operands) const = 0;
};

/// What a shape rule sees. Rules throw (ShapeError, DTypeError, ArgumentError) with what is wrong
/// and what would be right; the graph adds op, operand types and the user's line.
class InferContext {
 public:
  /// `bodies` is null outside of a graph; `ops`, those of the graph, null for Weft's own.
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
  /// Whether an optional operand is given.
  bool has(int i) const {
    return i < input_count() && inputs_[static_cast<std::size_t>(i)] != nullptr;
  }
  /// Type, dtype, shape and number of axes of operand `i`, which must be given.
  const ValueType& input(int i) const { return *inputs_[static_cast<std::size_t>(i)]; }
  DType dtype(int i) const { return input(i).dtype; }
  const Shape& shape(int i) const { return input(i).shape; }
  int rank(int i) const { return shape(i).rank(); }
  const Attributes& attributes() const { return attributes_; }
  /// What the names of ops in attributes mean.
  const OpSet* ops() const { return ops_; }
  /// Whether two sizes, or all of two shapes, are proven to be equal.
  bool equal(const Dim& a, const Dim& b) const { return facts_.equal(a, b); }
  bool equal(const Shape& a, const Shape& b) const;
  /// Types of what the function named by attribute `body` gives for these operands.
  std::vector<ValueType> body_outputs(std::string_view body,
                                      const std::vector<const ValueType*>& operands) const;

  /// Checks that most rules share: ShapeError or DTypeError where operand `i` (`a` and `b`) is not
  /// so; `what` names it in the message ("weight").
  void require_rank(int i, int rank, std::string_view what) const;
  void require_min_rank(int i, int rank, std::string_view what) const;
  void require_dtype(int i, DType dtype, std::string_view what) const;
  void require_floating(int i, std::string_view what) const;
  void require_index(int i, std::string_view what) const;  // i32 or i64
  void require_same_dtype(int a, int b) const;
  void require_equal(const Dim& a, const Dim& b, std::string_view what) const;
  void require_shape(int i, const Shape& shape, std::string_view what) const;
  /// NumPy broadcasting; a symbol never equals 1. Throws ShapeError naming the axis and both dims.
  Shape broadcast(const Shape& a, const Shape& b) const;

 private:
  std::string_view op_;
  std::vector<const ValueType*> inputs_;
  const Attributes& attributes_;
  const DimFacts& facts_;
  const OpSet* ops_;
  const BodyTypes* bodies_;
};

/// How many values an input stands for.
enum class Arity { required, optional, variadic };

/// An operand as a record declares it.
struct InputSpec {
  std::string name;
  Arity arity = Arity::required;
};

/// An attribute of an op: the default's alternative gives the type. Required attributes have a
/// placeholder default of the right type.
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
  commutative = 4,  // first two inputs may swap
  alias = 8,        // the output is the first input's memory with another shape: no kernel
  random = 16,      // has attributes `stream` and an input `key`
  opaque = 32,      // passes neither fold nor simplify through it (optimization_barrier)
  collective = 64,  // all ranks of a world compute it together: Kernel::exchange where `ranks` > 1
};
constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

/// How an op is differentiated.
enum class Gradient {
  rule,           // OpRecord::rule, or for Weft's own ops that of autodiff/rules
  decomposition,  // through OpRecord::definition, or that of graph/decompositions
  none,           // not differentiable: `no_gradient_reason` says why; gradients stop here
};

/// Returns one gradient per input, in order; undefined or left out at the end: zero or not wanted.
/// For elementwise ops it may have the broadcast shape of the output, which the transform sums to
/// the input's. For a 16-bit input it may be f32 or f64: the transform rounds the sum of all.
/// GradientContext is in autodiff/rule.h.
using GradientRule = RecordFunction<std::vector<Value>(const GradientContext& context)>;

/// Rebuilds `node` from primitives over `inputs` (in any graph: use inputs' graph, and node for
/// attributes only). Returns one value per output; an output that does not exist (its optional
/// input is absent) may be undefined.
using Decomposition = RecordFunction<std::vector<Value>(
    const Node& node, const std::vector<Value>& inputs, Graph& graph)>;

/// What a node costs: floating-point operations, and bytes read and written.
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

/// An illegal use and a part of the message it must give.
struct OpErrorSample {
  std::vector<ValueType> inputs = {};
  Attributes attributes = {};
  std::string message = {};
};

/// All that Weft knows of an op: one version of it. Functions of a record may have captures; they
/// are called from several threads at once.
struct OpRecord {
  std::string name = {};
  int version = 1;
  std::string doc = {};  // semantics in one or two lines, with the formula or the source
  std::vector<InputSpec> inputs = {};
  std::vector<AttributeSpec> attributes = {};
  std::vector<std::string> outputs = {"out"};
  Trait traits = Trait::none;
  /// The attributes that name functions of the graph (calls, loops, branches). Such an op has no
  /// kernel: a pass puts the body in its place, or a plan runs it.
  std::vector<std::string> bodies = {};
  /// Outputs that may be written over an input of the same byte size: {output, input}. The planner
  /// uses it only where nobody reads the input afterwards and both have the same sizes and element
  /// size.
  std::vector<std::pair<int, int>> inplace = {};
  /// Output dtypes and shapes. One entry per output; for an output that does not exist because an
  /// optional input is absent (a gradient of an absent bias), shape [0].
  RecordFunction<std::vector<ValueType>(const InferContext&)> infer = nullptr;
  /// Makes the kernel; null for leaves and aliases.
  RecordFunction<Kernel(const KernelRequest&)> kernel = nullptr;
  /// The op on one row, if it is elementwise with one output: what elementwise::kernel and fusion
  /// run. Null for all other ops, and for those that shall stay out of fused chains.
  RowRule row = nullptr;
  /// FLOPs and bytes; null means one FLOP per output element and bytes of all operands.
  RecordFunction<Cost(const KernelRequest&)> cost = nullptr;
  Gradient gradient = Gradient::rule;
  std::string no_gradient_reason = {};
  /// The gradient of an op of one's own: goes before the rules of a RuleSet.
  GradientRule rule = nullptr;
  /// The same op in primitives, where it can be said so: its gradient where there is no rule, and
  /// what `weft/testing` compares the kernel with.
  Decomposition definition = nullptr;
  RecordFunction<std::vector<OpSample>()> samples = nullptr;
  RecordFunction<std::vector<OpErrorSample>()> error_samples = nullptr;

  /// Whether the op has a trait.
  bool has(Trait t) const {
    return (static_cast<std::uint32_t>(traits) & static_cast<std::uint32_t>(t)) != 0;
  }
  bool has_bodies() const { return !bodies.empty(); }
  /// Adds defaults, checks names and types; throws ArgumentError listing the legal attributes.
  Attributes complete(const Attributes& given) const;
  /// Index of the input called `name`, or -1.
  int input_index(std::string_view name) const;
};

/// A value holding op records, with all there is to know of each, its gradient too. The built-in
/// ones are listed explicitly (builtin_ops); users give Graph, load_checkpoint and parse_text a set
/// with their own besides (with_ops).
class OpSet {
 public:
  /// Throws ArgumentError if (name, version) exists already or the record lacks what it needs.
  void add(OpRecord record);
  /// The newest version; null if there is none.
  const OpRecord* find(std::string_view name) const;
  const OpRecord* find(std::string_view name, int version) const;
  /// Throws ArgumentError with the closest known name.
  const OpRecord& at(std::string_view name) const;
  /// All records, by name, then version.
  std::vector<const OpRecord*> all() const;

 private:
  std::vector<std::shared_ptr<const OpRecord>> records_;  // sorted by (name, version)
};

/// Weft's own ops.
std::shared_ptr<const OpSet> builtin_ops();
/// Those of `base` and `records`. Throws ArgumentError as OpSet::add.
std::shared_ptr<const OpSet> with_ops(std::vector<OpRecord> records,
                                      std::shared_ptr<const OpSet> base = builtin_ops());

/// Runs shape rule and kernel of one op on the calling thread: for constant folding, tests and
/// samples. Absent optional inputs are undefined Tensors. Checks the data first.
std::vector<Tensor> evaluate_op(const OpRecord& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes = {});

}  // namespace weft
