// Inference-only tasks, whose models are loaded from folders.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Base class of inference-only tasks. Training and evaluation throw ArgumentError.
template <class Model>
class UntrainedTask : public TaskOf<Model> {
 public:
  TaskOptions options() const final { return {}; }
  TaskFields config_fields() const final { return {"Model", &EncoderConfig::fields(), {}}; }
  std::vector<PresetDescription> presets() const final { return {}; }
  std::unique_ptr<TaskRun> start(const TaskArguments&) const final { throw not_trainable(); }

 protected:
  std::unique_ptr<TaskRun> open_model(std::unique_ptr<Model>, const OptionValues&) const final {
    throw not_trainable();
  }

 private:
  ArgumentError not_trainable() const {
    return ArgumentError(
        fmt::format("a {} cannot be trained or evaluated: the task {} is for inference only",
                    Model::file_layout().kind, this->info().id));
  }
};

}  // namespace weft
