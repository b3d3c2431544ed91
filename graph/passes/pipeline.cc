#include "weft/graph/passes/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/passes/verify.h"

namespace weft {

const std::vector<Pass>& default_passes() {
  static const std::vector<Pass> passes = {
      {"inline", "replaces calls by the bodies of their functions", inline_calls},
      {"merge_scans", "makes one loop of those over the same operands", merge_scans},
      {"hoist", "moves what does not depend on carries out of loops", hoist_from_scans},
      {"fold", "evaluates nodes whose operands are constants", fold_constants},
      {"simplify", "removes operations that change nothing", simplify},
      {"fold_dequantize", "reads weights, keys and values in fewer bits as they are",
       fold_dequantize, "quantized"},
      {"fuse_linear_cross_entropy", "fuses the last linear layer with its cross-entropy",
       fuse_linear_cross_entropy, "join_head"},
      {"fuse_scatter_add", "adds rows to a sum instead of beside it", fuse_scatter_add,
       "accumulate"},
      {"bf16_activations", "keeps what only products at medium read as bfloat16", bf16_activations,
       "narrow"},
      {"fuse", "gathers elementwise operations into single passes over memory", fuse},
      {"epilogue", "moves what follows matrix products into them", move_epilogues},
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
      throw ArgumentError(fmt::format("there is no pass '{}' to disable; there are: {}", name,
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
