#include "weft/models/training/optimizers.h"

#include <array>

#include "weft/autodiff/optimizers/optimizers.h"

namespace weft {
namespace {

/// Returns the options of an optimizer that uses neither beta1 nor beta2.
template <class Options>
Options options_of(const OptimizerArguments& a) {
  return {.lr = a.lr, .weight_decay = a.settings.weight_decay, .step = a.step};
}

/// Returns the options of an optimizer that uses beta1 and beta2.
template <class Options>
Options options_with_betas(const OptimizerArguments& a) {
  Options options = options_of<Options>(a);
  options.beta1 = a.settings.beta1;
  options.beta2 = a.settings.beta2;
  return options;
}

/// All optimizers, in the order of the enum.
constexpr TrainOptimizer kOptimizers[] = {
    {"adamw", "AdamW", true, true, true,
     [](const OptimizerArguments& a) {
       return adamw(a.loss, a.groups, options_with_betas<AdamWOptions>(a), a.loc);
     }},
    {"adam", "Adam", false, true, true,
     [](const OptimizerArguments& a) {
       return adam(a.loss, a.groups, options_with_betas<AdamOptions>(a), a.loc);
     }},
    {"sgd", "SGD", false, true, false,
     [](const OptimizerArguments& a) {
       SgdOptions options = options_of<SgdOptions>(a);
       options.momentum = a.settings.beta1;
       return sgd(a.loss, a.groups, options, a.loc);
     }},
    {"adagrad", "AdaGrad", false, false, false,
     [](const OptimizerArguments& a) {
       return adagrad(a.loss, a.groups, options_of<AdagradOptions>(a), a.loc);
     }},
    {"adafactor", "Adafactor", false, false, false,
     [](const OptimizerArguments& a) {
       return adafactor(a.loss, a.groups, options_of<AdafactorOptions>(a), a.loc);
     }},
    {"lion", "Lion", true, true, true,
     [](const OptimizerArguments& a) {
       return lion(a.loss, a.groups, options_with_betas<LionOptions>(a), a.loc);
     }},
};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kOptimizers)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kOptimizers[i].name;
  return names;
}();

}  // namespace

const TrainOptimizer& train_optimizer(Optimizer optimizer) {
  return kOptimizers[static_cast<std::size_t>(optimizer)];
}

ChoiceNames choice_names(Optimizer) { return {"optimizer", kNames}; }

}  // namespace weft
