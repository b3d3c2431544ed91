#include "weft/ops/fusion/tile_chain.h"

#include <utility>

namespace weft {
namespace {

using kernels::chain_code;
using kernels::ChainForm;
using kernels::ChainOp;
using kernels::ChainStep;

constexpr int kNothing = -1;

class ChainBuilder {
 public:
  Chain build(const std::vector<ChainableStep>& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      add(steps[i]);
      for (Register& r : registers_) {
        if (r.value != kNothing && r.last_use <= i) r.value = kNothing;
      }
      if (steps[i].last_use > i + 1) keep(steps[i]);
      if (steps[i].stored || (steps[i].last_use > i + 1 && !in_register(steps[i].value))) {
        chain_.steps.push_back({.code = chain_code(ChainOp::store),
                                .pointer = steps[i].destination,
                                .result = steps[i].result});
        if (steps[i].result != 0) results_.emplace_back(steps[i].value, steps[i].result);
      }
    }
    return std::move(chain_);
  }

 private:
  // The contents of register A or B. Both registers supplement the accumulator.
  struct Register {
    int value = kNothing;
    std::size_t last_use = 0;
  };

  bool in_register(int value) const {
    return registers_[0].value == value || registers_[1].value == value;
  }

  void keep(const ChainableStep& step) {
    for (std::size_t k = 0; k < 2; ++k) {
      if (registers_[k].value != kNothing) continue;
      registers_[k] = {step.value, step.last_use};
      chain_.steps.push_back({.code = chain_code(k == 0 ? ChainOp::keep_a : ChainOp::keep_b)});
      return;
    }
  }

  void note_read(int value) {
    for (const auto& [result, bit] : results_) {
      if (result == value) chain_.read_back |= bit;
    }
  }

  void load(const ChainableStep& step, std::size_t operand) {
    const int value = step.operands[operand];
    if (registers_[0].value == value) {
      chain_.steps.push_back({.code = chain_code(ChainOp::take_a)});
    } else if (registers_[1].value == value) {
      chain_.steps.push_back({.code = chain_code(ChainOp::take_b)});
    } else {
      note_read(value);
      chain_.steps.push_back(
          {.code = chain_code(ChainOp::load), .pointer = step.pointers[operand]});
    }
  }

  void add(const ChainableStep& step) {
    const bool binary = step.operand_count == 2;
    const auto is_scalar = [&](std::size_t k) { return (step.scalars >> k & 1) != 0; };
    // The operand that is in the accumulator or must be loaded into it. This operand is not a
    // scalar.
    std::size_t held = 0;
    if (binary && step.operands[0] != accumulator_ &&
        (step.operands[1] == accumulator_ || is_scalar(0))) {
      held = 1;
    }
    if (step.operands[held] != accumulator_) load(step, held);
    ChainStep next{.code = chain_code(step.op), .reals = step.reals};
    if (binary) {
      const std::size_t other = 1 - held;
      const bool first = other == 0;
      ChainForm form = ChainForm::self;
      if (step.operands[0] == step.operands[1]) {
        form = ChainForm::self;
      } else if (is_scalar(other)) {
        form = first ? ChainForm::scalar_first : ChainForm::scalar;
      } else if (registers_[0].value == step.operands[other]) {
        form = first ? ChainForm::a_first : ChainForm::a;
      } else if (registers_[1].value == step.operands[other]) {
        form = first ? ChainForm::b_first : ChainForm::b;
      } else {
        note_read(step.operands[other]);
        form = first ? ChainForm::row_first : ChainForm::row;
      }
      next.code = chain_code(step.op, form);
      next.pointer = step.pointers[other];
    }
    chain_.steps.push_back(next);
    accumulator_ = step.value;
  }

  Chain chain_;
  int accumulator_ = kNothing;
  std::array<Register, 2> registers_;
  // The results stored so far, as pairs of value and result bit.
  std::vector<std::pair<int, std::uint32_t>> results_;
};

}  // namespace

Chain make_chain(const std::vector<ChainableStep>& steps) { return ChainBuilder().build(steps); }

}  // namespace weft
