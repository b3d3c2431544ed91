// A generative model loaded from a file or a folder.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/graph/run/session.h"
#include "weft/models/generate/settings.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/tasks.h"

namespace weft::program {

/// A text generator with its model and its session.
class LoadedGenerator {
 public:
  /// Opens a generative model for one inference task. Must be called on every rank of the world.
  /// Throws the same errors as load_model_for() and on_all_ranks().
  LoadedGenerator(Use use, const std::string& path, int threads, const World& world = {});

  TextGenerator* operator->() const { return generator_.get(); }
  const TrainedModel& model() const { return *opened_->model; }
  /// The generation settings of a Hugging Face folder; null for models that Weft trained.
  const GenerationSettings* settings() const { return generator_->settings(); }
  /// The reason why there is no tokenizer; empty if there is one.
  const std::string& no_tokenizer() const { return *no_tokenizer_; }
  /// Returns the first ids of an encoder-decoder's output. `given` contains these ids, such as "2
  /// 5"; if it is empty, they are taken from the model's settings. Throws ArgumentError if neither
  /// contains any.
  TokenIds start_ids(const std::string& given) const;

 private:
  std::string path_;
  std::optional<LoadedModel> opened_;
  const std::string* no_tokenizer_ = nullptr;
  std::unique_ptr<Session> session_;
  std::unique_ptr<TextGenerator> generator_;
};

}  // namespace weft::program
