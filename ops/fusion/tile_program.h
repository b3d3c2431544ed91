// A tile program: a short sequence of elementwise ops, represented as readable text and as a list
// of steps.
//
//   %3 = mul(%0, %1); %4 = add(%3, %2); %5 = clamp(%4, lo=0x0p+0); return %5, %3
//
// %0, %1, ... are the inputs, numbered from 0. Every step computes the next value, and the last
// clause names the results. Attributes that differ from their defaults follow the operands. Floats
// are printed in hexadecimal, so that parsing restores every bit. A step can use any op in the
// graph's op set that has a row kernel (OpRecord::row). All steps have the same shape, to which the
// inputs are broadcast.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/ops/op.h"

namespace WEFT_API weft {

struct TileStep {
  const OpRecord* op = nullptr;
  Attributes attributes;      // including defaults; see OpRecord::complete
  std::vector<int> operands;  // value numbers: inputs first, then the results of earlier steps
};

struct TileProgram {
  static constexpr int kMaxInputs = 24;
  static constexpr int kMaxSteps = 64;
  static constexpr int kMaxResults = 8;

  int inputs = 0;
  std::vector<TileStep> steps;
  std::vector<int> results;  // value numbers of steps, each at most once

  int values() const { return inputs + static_cast<int>(steps.size()); }
  std::string str() const;
  /// Parses the text of a program. Ops are looked up in `ops`; null selects Weft's built-in ops.
  /// Throws FormatError, which quotes the invalid clause and describes the error.
  static TileProgram parse(std::string_view text, const OpSet* ops = nullptr);
};

/// Returns true if `op` with these attributes can be a step, to the extent that this is known
/// without dtypes: `op` must be the newest version in `ops` and have a row kernel, and its
/// attributes must be plain numbers, flags or dtypes.
bool can_be_step(const OpRecord& op, const Attributes& attributes, const OpSet& ops);
/// Returns true if a step reads operand `k` as a whole instead of element by element. This is the
/// case for the key of a random op.
bool reads_whole(const OpRecord& op, std::size_t k);
/// Returns one flag per input, which is true if a step reads the input as a whole.
std::vector<char> whole_inputs(const TileProgram& program);

/// Returns the types of the operands starting with `first`, which are the inputs of a program, in
/// order. Throws ArgumentError if an operand is missing but a later one is given.
std::vector<const ValueType*> operands_from(const InferContext& context, int first);

/// Passes the dim equalities known in the graph to the shape rules of the steps.
class ContextFacts : public DimFacts {
 public:
  explicit ContextFacts(const InferContext& context) : context_(context) {}
  bool equal(const Dim& a, const Dim& b) const override { return context_.equal(a, b); }

 private:
  const InferContext& context_;
};

/// Returns the types of all values in the program, inputs first. Throws ArgumentError if inputs are
/// missing, if there are too many inputs, or if steps have different shapes. Errors thrown by the
/// shape rule of a step are rethrown with the step as a prefix.
std::vector<ValueType> infer_values(const TileProgram& program,
                                    const std::vector<const ValueType*>& inputs,
                                    const DimFacts& facts);

/// Returns the names of the ops in order, for reports, for example "mul+add+tanh". Long programs
/// are abbreviated.
std::string summary(const TileProgram& program);

}  // namespace weft
