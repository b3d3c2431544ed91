// A tile program: a few elementwise ops in a row, as text that people can read and as steps.
//
//   %3 = mul(%0, %1); %4 = add(%3, %2); %5 = clamp(%4, lo=0x0p+0); return %5, %3
//
// %0 %1 ... are the inputs, numbered from 0; every step makes the next value; the last clause names
// the results. Attributes follow the operands where they differ from their defaults; floats are
// hexadecimal, so that every bit comes back. Ops are those of a graph's set that have a row kernel
// (OpRecord::row). All steps have one shape, to which the inputs broadcast.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/ops/op.h"

namespace WEFT_API weft {

struct TileStep {
  const OpRecord* op = nullptr;
  Attributes attributes;      // complete
  std::vector<int> operands;  // values: inputs first, then the results of earlier steps
};

struct TileProgram {
  static constexpr int kMaxInputs = 24;
  static constexpr int kMaxSteps = 64;
  static constexpr int kMaxResults = 8;

  int inputs = 0;
  std::vector<TileStep> steps;
  std::vector<int> results;  // values made by steps, each once

  int values() const { return inputs + static_cast<int>(steps.size()); }
  std::string str() const;
  /// Looks ops up in `ops`; null: Weft's own. Throws FormatError that shows the clause and what is
  /// wrong with it.
  static TileProgram parse(std::string_view text, const OpSet* ops = nullptr);
};

/// True if `op` with these attributes can be a step as far as can be told without dtypes: it is the
/// newest of its name in `ops`, has a row kernel and attributes that are plain numbers, flags or
/// dtypes.
bool can_be_step(const OpRecord& op, const Attributes& attributes, const OpSet& ops);
/// True if the step reads operand `k` as a whole rather than by elements: the key of a draw.
bool reads_whole(const OpRecord& op, std::size_t k);
/// Per input: whether some step reads it as a whole.
std::vector<char> whole_inputs(const TileProgram& program);

/// The types of the operands from `first` on, which are a program's inputs in order. Throws
/// ArgumentError where one is missing in front of one that is given.
std::vector<const ValueType*> operands_from(const InferContext& context, int first);

/// Types of all values of the program, inputs first. Throws ArgumentError where inputs are missing
/// or too many, where steps differ in shape, or what a step's shape rule throws, with the step in
/// front.
std::vector<ValueType> infer_values(const TileProgram& program,
                                    const std::vector<const ValueType*>& inputs,
                                    const DimFacts& facts);

/// The ops in order, for reports: "mul+add+tanh"; long programs are cut short.
std::string summary(const TileProgram& program);

}  // namespace weft
