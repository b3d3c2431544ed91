#include "weft/models/training/optimizers.h"

#include <array>

#include "weft/autodiff/optimizers/optimizers.h"

namespace weft {
namespace {

/// All optimizers, in the order of the enum.
constexpr TrainOptimizer kOptimizers[] = {
    {"adamw", "AdamW", true, true, true,
     [](const OptimizerArguments& a) {
       return adamw(a.loss, a.groups,
                    {.lr = a.lr,
                     .beta1 = a.settings.beta1,
                     .beta2 = a.settings.beta2,
                     .weight_decay = a.settings.weight_decay,
                     .step = a.step},
                    a.loc);
     }},
    {"adam", "Adam", false, true, true,
     [](const OptimizerArguments& a) {
       return adam(a.loss, a.groups,
                   {.lr = a.lr,
                    .beta1 = a.settings.beta1,
                    .beta2 = a.settings.beta2,
                    .weight_decay = a.settings.weight_decay,
                    .step = a.step},
                   a.loc);
     }},
    {"sgd", "SGD", false, true, false,
     [](const OptimizerArguments& a) {
       return sgd(a.loss, a.groups,
                  {.lr = a.lr,
                   .momentum = a.settings.beta1,
                   .weight_decay = a.settings.weight_decay,
                   .step = a.step},
                  a.loc);
     }},
    {"adagrad", "AdaGrad", false, false, false,
     [](const OptimizerArguments& a) {
       return adagrad(a.loss, a.groups,
                      {.lr = a.lr, .weight_decay = a.settings.weight_decay, .step = a.step}, a.loc);
     }},
    {"adafactor", "Adafactor", false, false, false,
     [](const OptimizerArguments& a) {
       return adafactor(a.loss, a.groups,
                        {.lr = a.lr, .weight_decay = a.settings.weight_decay, .step = a.step},
                        a.loc);
     }},
    {"lion", "Lion", true, true, true,
     [](const OptimizerArguments& a) {
       return lion(a.loss, a.groups,
                   {.lr = a.lr,
                    .beta1 = a.settings.beta1,
                    .beta2 = a.settings.beta2,
                    .weight_decay = a.settings.weight_decay,
                    .step = a.step},
                   a.loc);
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
