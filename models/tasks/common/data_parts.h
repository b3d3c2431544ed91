// Training, validation and test sets that are read from separate files.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// The training, validation and test sets of a run. The training set is empty if a model is only
/// evaluated; the other sets may be empty in any run.
template <class T>
struct DataParts {
  T train = {}, validation = {}, test = {};

  bool has_test() const { return test.size() > 0; }
  bool has_held_out() const { return has_test() || validation.size() > 0; }
  /// Returns the test set if there is one, or else the validation set. Neither is used in training
  /// steps, and the test set is also not used for choosing settings. Throws DataError if the set is
  /// empty; `example` is the name of one example: "sentence".
  const T& held_out(const char* example) const {
    if (!has_held_out()) throw DataError(fmt::format("no {} was held out in training", example));
    return has_test() ? test : validation;
  }
};

/// Adds the data options --data, which has the help text `help`, --validation and --test.
inline TaskOptions& add_data_parts(TaskOptions& options, std::string help) {
  return options.files(kDataOption, std::move(help))
      .files(kValidationOption,
             "files for validation, in the same format (default: a fraction of --data)")
      .files(kTestOption,
             "files for a single evaluation at the end, in the same format (default: none)")
      .data();
}

/// Reads the files of the options `train_option`, --validation and --test: `read(paths)` reads the
/// files of one option. Without --validation, `split(train, fraction, seed)` holds out a fraction
/// of the training set for validation. Throws ArgumentError with the message `required` if no files
/// were given. Also throws the same exceptions as `read` and `split`.
template <class Read, class Split>
auto read_data_parts(const OptionValues& values, const char* train_option, const char* required,
                     const TrainSettings& settings, Read&& read, Split&& split) {
  if (!values.has(train_option) && !values.has(kValidationOption) && !values.has(kTestOption))
    throw ArgumentError(required);
  using Part = decltype(read(values.texts(train_option)));
  const auto part = [&](const char* option) {
    return values.has(option) ? read(values.texts(option)) : Part();
  };
  DataParts<Part> parts{part(train_option), part(kValidationOption), part(kTestOption)};
  if (values.has(train_option) && !values.has(kValidationOption)) {
    auto halves = split(std::move(parts.train), settings.validation_fraction, settings.seed);
    parts.train = std::move(halves.train);
    parts.validation = std::move(halves.held_out);
  }
  return parts;
}

/// Checks the arguments of a new run. Throws ArgumentError if there are no training files (with the
/// message `required`), or if both --validation and --validation-fraction were given.
inline void check_data_parts(const TaskArguments& args, const char* train_option,
                             const char* required) {
  if (!args.options.has(train_option)) throw ArgumentError(required);
  if (args.options.has(kValidationOption) && args.training.contains("validation_fraction")) {
    throw ArgumentError(
        "--validation-fraction applies only without --validation: use one of these options");
  }
}

}  // namespace weft
