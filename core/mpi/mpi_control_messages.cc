#include "weft/core/mpi/mpi_control_messages.h"

#include <fmt/format.h>

#include <iterator>
#include <span>

#include "weft/core/mpi/mpi_messages.h"

namespace weft {

MpiControlMessages::MpiControlMessages(MPI_Comm comm, Transport& self) : comm_(comm), self_(self) {
  if (self_.size() > 1) start_receive();
}

void MpiControlMessages::start_receive() {
  const int code = MPI_Irecv(receive_buffer_.data(), kControlMessageBytes, MPI_BYTE, MPI_ANY_SOURCE,
                             0, comm_, &receive_request_);
  mpi_ok(self_, code, "a receive");
}

void MpiControlMessages::cancel_receive() {
  if (receive_request_ == MPI_REQUEST_NULL) return;
  MPI_Cancel(&receive_request_);
  MPI_Wait(&receive_request_, MPI_STATUS_IGNORE);
}

std::optional<ControlMessage> MpiControlMessages::poll() {
  int there = 0;
  MPI_Status status;
  if (receive_request_ == MPI_REQUEST_NULL ||
      !mpi_ok(self_, MPI_Test(&receive_request_, &there, &status), "a completion test") ||
      there == 0)
    return std::nullopt;
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  std::optional<ControlMessage> message = decode_control_message(
      std::span(receive_buffer_).first(static_cast<std::size_t>(bytes)), self_.size());
  if (!message || message->rank != status.MPI_SOURCE) {
    self_.poison(fmt::format(
        "{} sends control messages in a format that this version of Weft does not support; start "
        "the same program on all ranks",
        describe_rank(self_, status.MPI_SOURCE)));
    return std::nullopt;
  }
  start_receive();
  return message;
}

void MpiControlMessages::send(const ControlMessage& message, int to) {
  PendingSend& pending =
      pending_sends_.emplace_back(PendingSend{message.kind, encode_control_message(message)});
  const int code = MPI_Isend(pending.bytes.data(), kControlMessageBytes, MPI_BYTE, to, 0, comm_,
                             &pending.request);
  if (!mpi_ok(self_, code, "a send")) pending_sends_.pop_back();
}

bool MpiControlMessages::all_sent(ControlMessage::Kind kind) {
  bool all = true;
  for (auto it = pending_sends_.begin(); it != pending_sends_.end();) {
    int gone = 1;
    // Errors are ignored: the receiver detects the missing message and reports it in more detail.
    if (it->kind == kind && MPI_Test(&it->request, &gone, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      gone = 1;
    all = all && gone != 0;
    it = it->kind == kind && gone != 0 ? pending_sends_.erase(it) : std::next(it);
  }
  return all;
}

}  // namespace weft
