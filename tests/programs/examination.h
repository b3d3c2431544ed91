// The checks of one program: see examine.h for what they are. A file for each kind of check.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/tests/programs/examine.h"
#include "weft/tests/programs/random_source.h"
#include "weft/tests/programs/rounding_spread.h"
#include "weft/tests/programs/trace.h"

namespace weft::testing {

class Examination {
 public:
  Examination(const Case& c, std::uint64_t seed, Examined& examined, const std::string& only)
      : c_(c), random_(seed), all_(seed == 0 || !only.empty()), only_(only), examined_(examined) {}

  std::optional<Failure> run();

 private:
  // examine.cc: what a program is.
  bool wanted(const std::string& check) const {
    return !failure_ && (only_.empty() || only_.starts_with(check));
  }
  /// Whether a costlier check is done this time.
  bool sometimes(double p) { return all_ || random_.chance(p); }
  void fail(std::string check, std::string message);
  void guarded(const std::string& check, const std::function<void()>& body);
  void check_text();
  void check_draws();
  bool has_cache() const;

  // examine_nodes.cc: every node against its scalar model, before and after the passes.
  Trace run_nodes(const Program& program, const std::string& check, int& counter);
  void check_nodes(const Program& program, const Results& results, const Bindings& bindings,
                   const std::string& check, int& counter);
  void check_variables(const Program& program, const Results& results, const NamedTensors& before,
                       const NamedTensors& after, const std::string& check);
  void run_base();
  void check_passes();

  // examine_ways.cc: the ways of running give the same.
  /// `got` are the runs of `base_` from `first` on.
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

  // examine_gradients.cc: claimed gradients against differences.
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
  bool all_finite_ = true;                // what nodes read and gave
  bool reordered_ = false;                // by a pass: bits may differ from base_
  std::optional<RoundingSpread> spread_;  // made when it is first needed
};

}  // namespace weft::testing
