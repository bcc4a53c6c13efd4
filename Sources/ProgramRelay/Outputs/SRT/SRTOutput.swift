import Foundation
import MixModel
import RTMP

/// SRT destinations: the program as MPEG-TS with copied packets, sent by its own process.
enum SRTOutput: ProcessOutputKind {
    static let name = "SRT"
    static let scheme = "srt://"

    static func takes(_ plan: PushDestination) -> Bool { plan.url.lowercased().hasPrefix(scheme) }

    static func connection(
        _ url: String, _ limits: Destination.Limits?, worker: URL,
        onKeyframeWanted: @escaping @Sendable () -> Void = {}
    ) throws(PullEnd) -> PushConnection {
        let address = try PullAddress(url)
        _ = try SRTOptions(address)
        return PushConnection(worker: worker, isToldOfConnection: false, onKeyframeWanted: onKeyframeWanted) {
            () throws(OutputFault) in
            var address = address
            if let limits {
                let destination = Destination(
                    scheme: address.scheme, host: address.host, port: address.port ?? 0, limits: limits)
                do throws(Destination.Unreachable) {
                    // Connects to the checked address.
                    if let found = try await destination.check(within: .seconds(5)) { address.put("\(found)") }
                } catch {
                    throw OutputFault(error.fault)
                }
            }
            return PushSettings(url: address.text)
        }
    }
}
