// A tile program: a short sequence of elementwise ops, as readable text and as steps.
//
//   %3 = mul(%0, %1); %4 = add(%3, %2); %5 = clamp(%4, lo=0x0p+0); return %5, %3
//
// %0, %1, ... are the inputs, numbered from 0; every step computes the next value; the last clause
// names the results. Attributes follow the operands if they differ from their defaults; floats are
// hexadecimal, so that parsing restores every bit. Ops are those of a graph's op set that have a
// row kernel (OpRecord::row). All steps have one shape, to which the inputs broadcast.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/ops/op.h"

namespace WEFT_API weft {

struct TileStep {
  const OpRecord* op = nullptr;
  Attributes attributes;      // with defaults, see OpRecord::complete
  std::vector<int> operands;  // values: inputs first, then the results of earlier steps
};

struct TileProgram {
  static constexpr int kMaxInputs = 24;
  static constexpr int kMaxSteps = 64;
  static constexpr int kMaxResults = 8;

  int inputs = 0;
  std::vector<TileStep> steps;
  std::vector<int> results;  // values of steps, each at most once

  int values() const { return inputs + static_cast<int>(steps.size()); }
  std::string str() const;
  /// Parses the text of a program. Ops are looked up in `ops`; null selects Weft's built-in ops.
  /// Throws FormatError that quotes the clause and states what is wrong with it.
  static TileProgram parse(std::string_view text, const OpSet* ops = nullptr);
};

/// Returns true if `op` with these attributes can be a step, as far as that is known without
/// dtypes: it is the newest version of its name in `ops`, has a row kernel, and its attributes are
/// plain numbers, flags or dtypes.
bool can_be_step(const OpRecord& op, const Attributes& attributes, const OpSet& ops);
/// Returns true if a step reads operand `k` as a whole instead of element by element: the key of a
/// random op.
bool reads_whole(const OpRecord& op, std::size_t k);
/// Returns, for every input, whether a step reads it as a whole.
std::vector<char> whole_inputs(const TileProgram& program);

/// Returns the types of the operands starting with `first`, which are the inputs of a program in
/// order. Throws ArgumentError if an operand is missing before one that is given.
std::vector<const ValueType*> operands_from(const InferContext& context, int first);

/// Returns the types of all values of the program, inputs first. Throws ArgumentError if inputs are
/// missing, if there are too many, or if steps differ in shape. Errors of the shape rule of a step
/// are rethrown with the step as prefix.
std::vector<ValueType> infer_values(const TileProgram& program,
                                    const std::vector<const ValueType*>& inputs,
                                    const DimFacts& facts);

/// Returns the names of the ops in order, for reports: "mul+add+tanh". Long programs are
/// abbreviated.
std::string summary(const TileProgram& program);

}  // namespace weft
