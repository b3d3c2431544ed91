#include "weft/graph/passes/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/passes/verify.h"

namespace weft {

const std::vector<Pass>& default_passes() {
  static const std::vector<Pass> passes = {
      {"inline", "replaces calls with the bodies of their functions", inline_calls},
      {"merge_scans", "merges loops over the same operands", merge_scans},
      {"hoist", "moves computations that do not depend on carries out of loops", hoist_from_scans},
      {"fold", "evaluates nodes that have only constant operands", fold_constants},
      {"simplify", "removes operations that have no effect", simplify},
      {"fold_dequantize", "reads quantised weights and narrow keys and values directly",
       fold_dequantize, "quantized"},
      {"fuse_linear_cross_entropy", "fuses the last linear layer with its cross-entropy",
       fuse_linear_cross_entropy, "join_head"},
      {"fuse_scatter_add", "scatters rows directly into the other operand of a sum",
       fuse_scatter_add, "accumulate"},
      {"bf16_activations", "stores operands and results of products at medium as bfloat16",
       bf16_activations, "narrow"},
      {"fuse", "fuses elementwise operations into single passes over memory", fuse},
      {"epilogue", "fuses elementwise operations into the matrix products that they follow",
       move_epilogues},
  };
  return passes;
}

Module run_passes(Module module, const PassOptions& options) {
  return run_passes(std::move(module), default_passes(), options);
}

Module run_passes(Module module, const std::vector<Pass>& passes, const PassOptions& options) {
  for (const std::string& name : options.disabled) {
    if (std::none_of(passes.begin(), passes.end(),
                     [&](const Pass& p) { return p.is_called(name); })) {
      std::vector<std::string> names;
      for (const Pass& p : passes) names.push_back(p.name);
      throw ArgumentError(fmt::format("there is no pass '{}' to disable; the passes are: {}", name,
                                      fmt::join(names, ", ")));
    }
  }
  const auto finish = [&](std::string_view name) {
    if (options.verify) {
      try {
        verify_program(module.program);
      } catch (const Error& e) {
        e.rethrow_as(fmt::format("after pass '{}': {}", name, e.what()));
      }
    }
    if (options.observe) options.observe(name, module.program);
  };
  finish("start");
  for (const Pass& pass : passes) {
    const auto is_this = [&](const std::string& name) { return pass.is_called(name); };
    if (std::any_of(options.disabled.begin(), options.disabled.end(), is_this)) continue;
    std::int64_t steps = 0;
    PassOptions own = options;
    own.steps = &steps;
    module = pass.run(std::move(module), own);
    if (options.report) {
      options.report({.pass = pass.name, .nodes = module.program.nodes().size(), .steps = steps});
    }
    finish(pass.name);
  }
  return module;
}

}  // namespace weft
