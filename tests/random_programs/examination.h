// The checks of one program, which examine.h describes. Each type of check has its own file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/tests/random_programs/examine.h"
#include "weft/tests/random_programs/random_source.h"
#include "weft/tests/random_programs/rounding_spread.h"
#include "weft/tests/random_programs/trace.h"

namespace weft::testing {

class Examination {
 public:
  Examination(const Case& c, std::uint64_t seed, Examined& examined, const std::string& only)
      : c_(c), random_(seed), all_(seed == 0 || !only.empty()), only_(only), examined_(examined) {}

  std::optional<Failure> run();

 private:
  // examine.cc: checks of the program itself.
  bool wanted(const std::string& check) const {
    return !failure_ && (only_.empty() || only_.starts_with(check));
  }
  /// Returns true with probability p, and always if all checks are requested. Used for expensive
  /// checks.
  bool sometimes(double p) { return all_ || random_.chance(p); }
  void fail(std::string check, std::string message);
  void guarded(const std::string& check, const std::function<void()>& body);
  void check_text();
  void check_draws();
  bool has_cache() const;

  // examine_nodes.cc: compares every node with its scalar model, before and after the passes.
  Trace run_nodes(const Program& program, const std::string& check, int& counter);
  void check_nodes(const Program& program, const Results& results, const Bindings& bindings,
                   const std::string& check, int& counter);
  void check_variables(const Program& program, const Results& results, const NamedTensors& before,
                       const NamedTensors& after, const std::string& check);
  // examine_shift.cc: an offset of all elements does not change softmax, losses and norms.
  void check_shift(const Node& node, const std::vector<Tensor>& inputs, const std::string& check);
  void run_base();
  void check_passes();

  // examine_executions.cc: the program must give the same results however it is executed. `got`
  // contains `count` runs and is compared with the runs of `base_` from run `first` on.
  void compare(const std::string& check, const Trace& got, bool may_be_reordered = true,
               std::size_t first = 0, std::size_t count = SIZE_MAX);
  void variant(const std::string& check, const Program& program, const SessionOptions& options,
               const std::vector<std::string>& fetch = {});
  void run_variants();
  void check_into();
  void check_finite();
  void check_budget();
  void check_file();
  void check_static();

  // examine_gradients.cc: compares claimed gradients with finite differences.
  bool has_differences() const;
  void check_gradients();
  bool compare_difference(const GradientClaim& claim, std::int64_t i, double analytic, double here,
                          const std::function<double(double)>& moved);

  const Case& c_;
  RandomSource random_;
  bool all_;
  const std::string only_;
  Examined& examined_;
  std::optional<Failure> failure_;
  std::unique_ptr<Module> parsed_, inlined_, optimised_;
  Trace base_;
  /// True if all operands and results of all nodes were finite.
  bool all_finite_ = true;
  /// True if a pass changed the order of a sum, so that bits may differ from those of `base_`.
  bool reordered_ = false;
  /// Created on first use.
  std::optional<RoundingSpread> spread_;
};

}  // namespace weft::testing
