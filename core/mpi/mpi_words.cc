#include "weft/core/mpi/mpi_words.h"

#include <fmt/format.h>

#include <iterator>
#include <span>

#include "weft/core/mpi/mpi_messages.h"

namespace weft {

MpiWords::MpiWords(MPI_Comm comm, Transport& self) : comm_(comm), self_(self) {
  if (self_.size() > 1) listen();
}

void MpiWords::listen() {
  const int code =
      MPI_Irecv(heard_.data(), kWordBytes, MPI_BYTE, MPI_ANY_SOURCE, 0, comm_, &hearing_);
  mpi_good(self_, code, "a receive");
}

void MpiWords::stop_listening() {
  if (hearing_ == MPI_REQUEST_NULL) return;
  MPI_Cancel(&hearing_);
  MPI_Wait(&hearing_, MPI_STATUS_IGNORE);
}

std::optional<Word> MpiWords::hear() {
  int there = 0;
  MPI_Status status;
  if (hearing_ == MPI_REQUEST_NULL ||
      !mpi_good(self_, MPI_Test(&hearing_, &there, &status), "a completion test") || there == 0)
    return std::nullopt;
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  std::optional<Word> word =
      read_word(std::span(heard_).first(static_cast<std::size_t>(bytes)), self_.size());
  if (!word || word->rank != status.MPI_SOURCE) {
    self_.poison(fmt::format(
        "{} sends control messages that this version of Weft does not understand; start "
        "the same program on all ranks",
        describe_rank(self_, status.MPI_SOURCE)));
    return std::nullopt;
  }
  listen();
  return word;
}

void MpiWords::say(const Word& word, int to) {
  Saying& saying = saying_.emplace_back(Saying{word.kind, write_word(word)});
  const int code =
      MPI_Isend(saying.bytes.data(), kWordBytes, MPI_BYTE, to, 0, comm_, &saying.request);
  if (!mpi_good(self_, code, "a send")) saying_.pop_back();
}

bool MpiWords::said(Word::Kind kind) {
  bool all = true;
  for (auto it = saying_.begin(); it != saying_.end();) {
    int gone = 1;
    // Errors are ignored: the receiver misses the message and reports the problem, with more
    // detail.
    if (it->kind == kind && MPI_Test(&it->request, &gone, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      gone = 1;
    all = all && gone != 0;
    it = it->kind == kind && gone != 0 ? saying_.erase(it) : std::next(it);
  }
  return all;
}

}  // namespace weft
