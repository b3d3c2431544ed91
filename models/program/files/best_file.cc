#include "weft/models/program/files/best_file.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/training/model.h"
#include "weft/serialization/sharded_checkpoint.h"

namespace weft::program {
namespace {

namespace fs = std::filesystem;

fs::path without_extension(const std::string& path) {
  return fs::weakly_canonical(path).replace_extension();
}

/// Returns true if the file holds the model of the evaluation `best`, that is, if the history in
/// the file ends with this evaluation.
bool holds(const std::string& path, const BestEvaluation& best) {
  try {
    const TrainHistory history = read_history(path);
    return !history.validation.empty() &&
           history.validation.back() == std::pair{best.step, best.loss};
  } catch (const Error&) {
    return false;  // the file does not exist yet, or is not a model
  }
}

std::string loss_of(const BestEvaluation& best, std::int64_t batches) {
  return fmt::format("step {}, validation loss {:.4f} over {}", best.step, best.loss,
                     compared_part(batches));
}

}  // namespace

std::string compared_part(std::int64_t batches) {
  return batches == 0 ? "the whole split" : fmt::format("up to {} held-out batches", batches);
}

BestFile::BestFile(OutputFile file, const std::string& out, const TrainSettings& settings,
                   const TrainHistory& history, bool evaluates)
    : file_(std::move(file)), batches_(settings.compared_batches()) {
  const std::string& path = file_.path();
  if (!evaluates) {
    throw UsageError(
        "--best needs held-out data to compare models, but this run has none: hold out a part of "
        "the data (--validation-fraction, --test-fraction) or add more examples");
  }
  if (without_extension(path) == without_extension(out)) {
    throw UsageError(fmt::format(
        "--best {} needs a different name: {} is the file for the model after the last step", path,
        out));
  }
  const BestEvaluation best = history.best(batches_);
  if (!std::isnan(best.loss)) {
    holds_best_ = holds(path, best);
    say("best      so far: {}, {}\n", loss_of(best, batches_),
        holds_best_
            ? fmt::format("saved in {}", path)
            : fmt::format("not saved in {}, which will be written at the next improvement", path));
  } else if (!history.validation.empty() && fs::exists(path)) {
    throw UsageError(
        fmt::format("--best {} would be replaced without a comparison: the earlier evaluations of "
                    "this run did not use {}; name another file",
                    path, compared_part(batches_)));
  }
}

void BestFile::print(const BestEvaluation& best) const {
  if (std::isnan(best.loss)) {
    say("best      {} was not written: there has been no evaluation yet\n", file_.path());
    return;
  }
  const std::string found = loss_of(best, batches_);
  if (holds_best_) {
    say("best      {}: {} ({})\n", found, file_.path(),
        short_bytes(static_cast<double>(checkpoint_bytes(file_.path()))));
  } else {
    say("best      {}, before the run was resumed: that model is not in {}\n", found, file_.path());
  }
}

}  // namespace weft::program
