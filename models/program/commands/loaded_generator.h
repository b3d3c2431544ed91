// A generative model loaded from a file or a folder.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/graph/run/session.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/tasks.h"

namespace weft::program {

/// A text generator with its model and its session.
struct LoadedGenerator {
  /// Opens a generative model for one inference task. Must be called on every rank of the world.
  /// Throws the same errors as load_model_for() and on_all_ranks().
  LoadedGenerator(Use use, const std::string& path, int threads, const World& world = {});

  const TrainedModel& model() const { return *opened->model; }
  /// Returns the first ids of an encoder-decoder's output. `given` contains these ids, such as "2
  /// 5"; if it is empty, they are taken from the model's settings. Throws ArgumentError if neither
  /// contains any.
  TokenIds start_ids(const std::string& given) const;

  std::string path;
  std::optional<LoadedModel> opened;
  std::unique_ptr<Session> session;
  std::unique_ptr<TextGenerator> generator;
};

}  // namespace weft::program
