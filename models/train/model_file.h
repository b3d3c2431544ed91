// Reading the .weft files of trained models: what a kind of model needs of its file.
#pragma once

#include <string>
#include <string_view>

#include "weft/serialization/checkpoint.h"

namespace weft {

/// Names of the attachments that every trained model has.
inline constexpr const char* kConfigAttachment = "model.config";      // type: weft.config.<family>
inline constexpr const char* kSettingsAttachment = "train.settings";  // weft.train.settings
inline constexpr const char* kHistoryAttachment = "train.history";    // weft.train.history

/// A checkpoint that should hold a model of one kind: what is missing is an error that says so.
class ModelFile {
 public:
  /// Loads `path`. `config_type` is the type of its configuration, `kind` says what such a model is
  /// called ("language model"). Throws IoError, FormatError; a .weft file of another kind is a
  /// FormatError, one with a parameter or moment that is not finite a DataError.
  ModelFile(const std::string& path, std::string_view config_type, std::string_view kind);

  const Checkpoint& checkpoint() const { return checkpoint_; }
  /// Bytes of an attachment; FormatError where it is missing.
  const std::string& attachment(std::string_view name) const;
  /// FormatError where it is missing.
  const Program& program(std::string_view name) const;
  /// An empty program of that name where it is missing: the file is not for training.
  Program program_if_there(const char* name) const;

 private:
  std::string path_, kind_;
  Checkpoint checkpoint_;
};

/// The type of the configuration in a .weft file ("weft.config.gpt"); empty where there is none.
std::string config_type(const Checkpoint& checkpoint);

}  // namespace weft
