// The attacks. Each attack runs until its time budget is used up and reports its findings.
#pragma once

#include "report.h"
#include "workspace.h"

namespace weft::attack {

/// Passes damaged files of every type to every command that reads such files, with and without
/// corrected checksums. Requirement: the command succeeds or prints a one-line error.
void attack_files(const Workspace& workspace, const Budget& budget, Report& report);

/// Sends SIGKILL, SIGTERM, SIGINT or SIGHUP at random moments to training runs that save after
/// every step. Requirement: afterwards the saved file is intact, and the next save removes leftover
/// temporary files.
void attack_with_kills(const Workspace& workspace, const Budget& budget, Report& report);

/// Limits memory, file descriptors or file sizes. Requirement: the command succeeds or prints a
/// one-line error.
void attack_with_limits(const Workspace& workspace, const Budget& budget, Report& report);

/// Injects failures into calls that write, sync, rename, open, close, delete or read files,
/// allocate memory or start threads. Requirement: the old file remains, or the new file is
/// complete. Needs the fault injection library.
void attack_disk(const Workspace& workspace, const Budget& budget, Report& report);

/// Passes endless inputs, and small inputs that decompress to large ones. Short runs do not use
/// pipes as inputs, because commands may wait for them.
void attack_with_floods(const Workspace& workspace, const Budget& budget, Report& report);

/// Traces the files that a command reads, and names one of them as an output of the same command,
/// through a hard link or a symbolic link and with --force. Requirement: the command is rejected,
/// and the file is unchanged. Needs the fault injection library.
void attack_inputs(const Workspace& workspace, const Budget& budget, Report& report);

/// Gives random options of text generation. Requirement: the option is rejected, or its effect is
/// present in the generated ids.
void attack_options(const Workspace& workspace, const Budget& budget, Report& report);

/// Connects hostile clients to `weft serve`: malformed, endless, slow and abandoned requests,
/// thousands of connections, JSON and schemas that demand much time, overload, SIGTERM and little
/// memory. Requirement: the server continues, other clients get the answers of a quiet server, and
/// afterwards no request, thread, descriptor or memory is left. Skipped without `weft serve`.
void attack_with_clients(const Workspace& workspace, const Budget& budget, Report& report);

}  // namespace weft::attack
