// A model that writes, opened from a file or a folder.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/graph/run/session.h"
#include "weft/models/generate/settings.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/tasks.h"

namespace weft::program {

class Writer {
 public:
  /// Opens a model that writes, for one use of it. Throws as load_model_for.
  /// On every rank of the world, as together().
  Writer(Use use, const std::string& path, int threads, const World& world = {});

  TextGenerator* operator->() const { return generator_.get(); }
  const TrainedModel& model() const { return *opened_->model; }
  /// What its authors say of a folder's model; null for models that Weft trained.
  const GenerationSettings* settings() const { return generator_->settings(); }
  /// Why there is no tokenizer; empty where there is one.
  const std::string& no_tokenizer() const { return *no_tokenizer_; }
  /// What the output of an encoder-decoder begins with: `given`, "2 5", or what the model says.
  /// Throws ArgumentError where it says nothing.
  TokenIds start_ids(const std::string& given) const;

 private:
  std::string path_;
  std::optional<LoadedModel> opened_;
  const std::string* no_tokenizer_ = nullptr;
  std::unique_ptr<Session> session_;
  std::unique_ptr<TextGenerator> generator_;
};

}  // namespace weft::program
