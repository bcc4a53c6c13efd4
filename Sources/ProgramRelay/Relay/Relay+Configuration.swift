import ForkServer
import Foundation
import MixModel
import TextFormats

extension Relay {
    /// What a relay is started with, and does not change.
    public struct Configuration: Sendable {
        public var task: TaskID
        /// Path of the unix socket on which the relay listens, at most 100 bytes.
        public var socketPath: String
        /// Time for which the program stays on air without an orchestrator, in seconds.
        public var orphanTimeout: Double
        /// The `mixworker` binary, for mixers.
        public var worker: URL
        /// Whether a mixer's process waits beside a bypass that others may join, as long as the machine has memory to
        /// spare.
        public var keepsMixerReady: Bool
        /// Makes mixers, so that none has to wait; `nil` = they are started.
        public var forkServer: ForkClient?
        /// The encoder that mixers use, as `mixworker mixer --encoder` takes it.
        public var encoder: String
        /// The CPU time of a process that runs other relays, too; `nil` if this relay has the process for itself.
        public var shares: CPUShares?

        public init(
            task: TaskID, socketPath: String, orphanTimeout: Double, worker: URL, keepsMixerReady: Bool = true,
            forkServer: ForkClient? = nil, encoder: String = "software", shares: CPUShares? = nil
        ) {
            self.task = task
            self.socketPath = socketPath
            self.orphanTimeout = orphanTimeout
            self.worker = worker
            self.keepsMixerReady = keepsMixerReady
            self.forkServer = forkServer
            self.encoder = encoder
            self.shares = shares
        }

        /// The file that names the process of a relay that shares it. A relay with a process of its own is recorded by
        /// the service.
        var processFile: String { file(".pid") }

        /// The file with which a relay that takes this one's place continues its timestamps.
        var anchorFile: AnchorFile { AnchorFile(path: file(".clock")) }

        /// The file of `PullRecord`.
        var pullFile: String { file(".pulls") }

        private func file(_ ending: String) -> String {
            (socketPath.endsInUTF8(with: ".sock") ? String(socketPath.dropLast(5)) : socketPath) + ending
        }
    }
}
