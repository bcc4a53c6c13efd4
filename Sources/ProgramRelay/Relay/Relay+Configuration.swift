import ForkServer
import Foundation
import MixModel
import TextFormats

extension Relay {
    /// The settings with which a relay is started, which do not change.
    public struct Configuration: Sendable {
        public var task: TaskID
        /// Path of the Unix socket on which the relay listens, at most 100 bytes.
        public var socketPath: String
        /// Time for which the program stays on air without an orchestrator, in seconds.
        public var orphanTimeout: Double
        /// The `mixworker` binary, for mixers.
        public var worker: URL
        /// Whether a spare mixer process waits during a bypass that others may join, as long as the machine has enough
        /// memory.
        public var keepsMixerReady: Bool
        /// Forks mixers, so that no spare one has to wait; `nil` if they are started as programs.
        public var forkServer: ForkClient?
        /// The encoder that mixers use, as accepted by `mixworker mixer --encoder`.
        public var encoder: String
        /// The CPU time of a process that also runs other relays; `nil` if this relay has its own process.
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

        /// The file that names the process of a relay in a shared process. The service records relays with their own
        /// process.
        var processFile: ProcessFile { ProcessFile(path: file(".pid")) }

        /// The file with which a successor continues this relay's timestamps.
        var anchorFile: AnchorFile { AnchorFile(path: file(".clock")) }

        /// The file of `PullRecord`.
        var pullFile: String { file(".pulls") }

        private func file(_ ending: String) -> String {
            (socketPath.endsInUTF8(with: ".sock") ? String(socketPath.dropLast(5)) : socketPath) + ending
        }
    }
}
