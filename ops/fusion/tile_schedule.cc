#include "weft/ops/fusion/tile_schedule.h"

#include <algorithm>
#include <utility>

#include "weft/ops/fusion/tile_chain.h"

namespace weft {
namespace {

bool overwrites(const OpRecord& op, std::size_t operand) {
  return std::find(op.inplace.begin(), op.inplace.end(), std::pair(0, static_cast<int>(operand))) !=
         op.inplace.end();
}

// Compiles the steps in order. A temporary is reused after the last use of its value.
class ScheduleBuilder {
 public:
  ScheduleBuilder(const TileProgram& program, const std::vector<DType>& dtypes,
                  std::uint32_t scalars, const std::vector<char>& needed)
      : program_(program),
        dtypes_(dtypes),
        scalars_(scalars),
        last_use_(dtypes.size(), -1),
        result_of_(dtypes.size(), -1),
        live_(dtypes.size(), 0),
        pointer_(dtypes.size(), TileSchedule::kNoPointer) {
    schedule_.inputs = static_cast<std::size_t>(program.inputs);
    schedule_.results = program.results.size();
    for (std::size_t r = 0; r < program.results.size(); ++r) {
      if (!needed[r]) continue;
      const auto v = static_cast<std::size_t>(program.results[r]);
      result_of_[v] = static_cast<int>(r);
      live_[v] = 1;
    }
    for (std::size_t s = program.steps.size(); s-- > 0;) {
      if (!live_[value_of(s)]) continue;
      for (const int v : program.steps[s].operands) {
        const auto i = static_cast<std::size_t>(v);
        live_[i] = 1;
        last_use_[i] = std::max(last_use_[i], static_cast<int>(s));
      }
    }
  }

  TileSchedule build() {
    set_sizes();
    for (std::size_t i = 0; i < schedule_.inputs; ++i) pointer_[i] = schedule_.input(i);
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      if (live_[value_of(s)]) add(s);
    }
    make_segments();
    schedule_.deferred.assign(schedule_.results, TileSchedule::kNoPointer);
    for (std::size_t r = 0; r < schedule_.results; ++r) {
      if (schedule_.result_size[r] != 0) schedule_.deferred[r] = new_temporary();
    }
    find_hazards();
    return std::move(schedule_);
  }

 private:
  // The properties of an instruction that are required for building chains.
  struct Draft {
    int step;  // index of the step in the program
    DType dtype;
    bool chainable;
    ChainableStep chain_step = {};
  };

  std::size_t value_of(std::size_t step) const { return schedule_.inputs + step; }

  void set_sizes() {
    std::size_t largest = 1;
    for (std::size_t v = 0; v < dtypes_.size(); ++v) {
      if (live_[v] && v >= schedule_.inputs) largest = std::max(largest, dtype_size(dtypes_[v]));
    }
    schedule_.tile =
        static_cast<std::int64_t>(TileSchedule::kRowBytes / std::max<std::size_t>(largest, 4));
    for (std::size_t i = 0; i < schedule_.inputs; ++i) {
      const bool advances = (scalars_ >> i & 1) == 0;
      schedule_.input_size.push_back(advances ? static_cast<std::uint8_t>(dtype_size(dtypes_[i]))
                                              : std::uint8_t{0});
    }
    for (const int v : program_.results) {
      const auto i = static_cast<std::size_t>(v);
      schedule_.result_size.push_back(
          result_of_[i] >= 0 ? static_cast<std::uint8_t>(dtype_size(dtypes_[i])) : std::uint8_t{0});
    }
  }

  std::uint8_t new_temporary() { return schedule_.temporary(schedule_.temporaries++); }

  void add(std::size_t s) {
    const TileStep& step = program_.steps[s];
    const std::size_t value = value_of(s);
    TileSchedule::Instruction instruction;
    RowRequest request{{}, dtypes_[value], 0, step.attributes};
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const auto v = static_cast<std::size_t>(step.operands[k]);
      request.inputs.push_back(dtypes_[v]);
      if (v < schedule_.inputs && (scalars_ >> v & 1) != 0) request.scalars |= 1u << k;
      instruction.operands[k] = pointer_[v];
    }
    instruction.operand_count = static_cast<std::uint8_t>(step.operands.size());
    instruction.kernel = step.op->row(request);
    instruction.destination = pointer_[value] = destination(s);
    // The cost of a separate op includes memory access, most of which fusion eliminates.
    schedule_.ns_per_element += std::max(0.08, instruction.kernel.ns_per_element - 0.25);
    schedule_.instructions.push_back(instruction);
    drafts_.push_back(draft(s, instruction));
  }

  // Returns the index of the pointer to which the value of a step is written: a result of the
  // program or a temporary. Frees the temporaries that are last read by this step.
  std::uint8_t destination(std::size_t s) {
    const TileStep& step = program_.steps[s];
    const std::size_t value = value_of(s);
    std::uint8_t to = TileSchedule::kNoPointer;
    if (result_of_[value] >= 0) {
      to = schedule_.result(static_cast<std::size_t>(result_of_[value]));
    }
    std::vector<std::uint8_t> dying;
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const auto v = static_cast<std::size_t>(step.operands[k]);
      const bool dies =
          v >= schedule_.inputs && result_of_[v] < 0 && last_use_[v] == static_cast<int>(s);
      if (!dies || std::find(dying.begin(), dying.end(), pointer_[v]) != dying.end()) continue;
      dying.push_back(pointer_[v]);
      if (to == TileSchedule::kNoPointer && overwrites(*step.op, k) &&
          dtype_size(dtypes_[v]) == dtype_size(dtypes_[value])) {
        to = pointer_[v];
      }
    }
    if (to == TileSchedule::kNoPointer) {
      if (free_.empty()) {
        to = new_temporary();
      } else {
        to = free_.back();
        free_.pop_back();
      }
    }
    for (const std::uint8_t t : dying) {
      if (t != to) free_.push_back(t);
    }
    return to;
  }

  Draft draft(std::size_t s, const TileSchedule::Instruction& instruction) const {
    const TileStep& step = program_.steps[s];
    const std::size_t value = value_of(s);
    const auto op = kernels::chain_op(instruction.kernel, dtypes_[value]);
    Draft result{static_cast<int>(s), dtypes_[value], op.has_value()};
    if (!op) return result;
    ChainableStep& chain_step = result.chain_step;
    chain_step.op = *op;
    chain_step.reals = instruction.kernel.reals;
    chain_step.scalars = instruction.kernel.scalars;
    chain_step.operand_count = step.operands.size();
    for (std::size_t k = 0; k < chain_step.operand_count; ++k) {
      chain_step.operands[k] = step.operands[k];
      chain_step.pointers[k] = instruction.operands[k];
    }
    chain_step.value = static_cast<int>(value);
    chain_step.destination = instruction.destination;
    if (result_of_[value] >= 0) chain_step.result = 1u << result_of_[value];
    return result;
  }

  // Creates the longest possible chains of steps with the same dtype. All temporaries in a chain
  // hold elements of this dtype, so the results do not depend on whether the chain runs block by
  // block or row by row.
  void make_segments() {
    for (std::size_t begin = 0, end; begin < drafts_.size(); begin = end) {
      const Draft& first = drafts_[begin];
      end = begin + 1;
      while (end < drafts_.size() && drafts_[end].chainable == first.chainable &&
             (!first.chainable || drafts_[end].dtype == first.dtype)) {
        ++end;
      }
      TileSchedule::Segment segment{.begin = begin, .end = end, .dtype = first.dtype};
      if (first.chainable) {
        const std::vector<ChainableStep> steps = chainable(begin, end);
        Chain chain = make_chain(steps);
        segment.chain = std::move(chain.steps);
        segment.block = kernels::chain_block(first.dtype);
        for (const ChainableStep& step : steps) {
          const bool read_later =
              last_use_[static_cast<std::size_t>(step.value)] > drafts_[end - 1].step;
          if (!read_later) schedule_.nontemporal |= step.result & ~chain.read_back;
        }
      }
      schedule_.segments.push_back(std::move(segment));
    }
  }

  std::vector<ChainableStep> chainable(std::size_t begin, std::size_t end) const {
    std::vector<ChainableStep> steps;
    for (std::size_t i = begin; i < end; ++i) {
      ChainableStep step = drafts_[i].chain_step;
      const int last_use = last_use_[static_cast<std::size_t>(step.value)];
      step.stored = step.result != 0 || last_use > drafts_[end - 1].step;
      for (std::size_t k = i; k < end; ++k) {
        if (drafts_[k].step <= last_use) step.last_use = k - begin;
      }
      steps.push_back(step);
    }
    return steps;
  }

  void find_hazards() {
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      const std::size_t value = value_of(s);
      if (result_of_[value] < 0) continue;
      for (std::size_t i = 0; i < schedule_.inputs; ++i) {
        bool hazard = last_use_[i] > static_cast<int>(s);
        for (std::size_t k = 0; k < program_.steps[s].operands.size(); ++k) {
          if (program_.steps[s].operands[k] != static_cast<int>(i)) continue;
          hazard = hazard || !overwrites(*program_.steps[s].op, k);
        }
        if (hazard) {
          schedule_.hazards.push_back(
              {static_cast<std::uint8_t>(result_of_[value]), static_cast<std::uint8_t>(i)});
        }
      }
    }
  }

  const TileProgram& program_;
  const std::vector<DType>& dtypes_;
  const std::uint32_t scalars_;
  TileSchedule schedule_;
  // The following vectors are indexed by value.
  std::vector<int> last_use_;   // the last step that reads the value, or -1
  std::vector<int> result_of_;  // the result number if the value is a result, or -1
  std::vector<char> live_;      // true if a needed result depends on the value
  std::vector<std::uint8_t> pointer_;

  std::vector<Draft> drafts_;       // indexed by instruction
  std::vector<std::uint8_t> free_;  // free temporaries
};

}  // namespace

TileSchedule make_tile_schedule(const TileProgram& program, const std::vector<DType>& dtypes,
                                std::uint32_t scalars, const std::vector<char>& needed) {
  return ScheduleBuilder(program, dtypes, scalars, needed).build();
}

}  // namespace weft
