import ArgumentParser
import Foundation
import HTTPInterface
import RoomService

struct SignURLCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-url", abstract: "Signs the URL of a program for viewers, or of a stream for its publisher.",
        discussion: """
            Prints the URL with an auth_key of ApsaraVideo Live's type A, which grants access to that path only, until it \
            expires. The key is the service's channel.key for a room's channel (/v1/rooms/…); its ingest.key for WHIP \
            (/whip/…) and for rtmp:// and rtmps:// URLs whose path does not begin with /program/; and its playback.key for \
            other URLs. Without --key, the key is read from MIXORCHESTRATOR_PLAYBACK_KEY, MIXORCHESTRATOR_CHANNEL_KEY, \
            MIXORCHESTRATOR_INGEST_KEY or the configuration. Other users of this machine can see the argument of --key.
            """)

    @Argument(
        help:
            "URL to sign, such as http://127.0.0.1:8080/live/demo.flv or rtmp://127.0.0.1/live/demo__alice. Keeps its query."
    )
    var url: String
    @Option(help: "The service's playback.key, channel.key or ingest.key.")
    var key: String?
    @Option(help: "Seconds for which the URL is valid, in addition to the service's playback.validity. Default 3600.")
    var ttl = 3600
    @Option(help: "User id in the auth_key: letters and digits. Default 0.")
    var uid = "0"
    @Option(help: "YAML file with the configuration of the service.")
    var config: String?

    func validate() throws {
        guard 0...315_360_000 ~= ttl else { throw ValidationError("--ttl: found \(ttl); expected 0…315360000 seconds") }
        guard 1...PlaybackAccess.longestWord ~= uid.utf8.count,
            uid.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { throw ValidationError("--uid: found \"\(uid)\"; expected letters and digits") }
    }

    func run() throws {
        print(try signed(now: Int(Date.now.timeIntervalSince1970)))
    }

    /// Returns the signed URL.
    ///
    /// - Parameter now: Current time, in seconds since 1970.
    func signed(now: Int) throws -> String {
        guard var parts = URLComponents(string: url), parts.scheme != nil, !parts.percentEncodedPath.isEmpty else {
            throw ValidationError("found \"\(url)\"; expected a URL, as in http://127.0.0.1:8080/live/demo.flv")
        }
        let value = PlaybackAccess.authKey(
            path: parts.percentEncodedPath, time: now + ttl,
            random: String(UInt64.random(in: 1 ... .max), radix: 36), uid: uid,
            key: try secret(keyName(parts)))
        var items = (parts.percentEncodedQueryItems ?? []).filter { $0.name != PlaybackAccess.parameter }
        items.append(URLQueryItem(name: PlaybackAccess.parameter, value: value))
        parts.percentEncodedQueryItems = items
        return parts.string ?? url
    }

    private func keyName(_ url: URLComponents) -> String {
        if isOfPublisher(url) { return "ingest.key" }
        return url.percentEncodedPath.hasPrefix("/v1/rooms/") ? "channel.key" : "playback.key"
    }

    private func isOfPublisher(_ url: URLComponents) -> Bool {
        guard url.scheme?.lowercased().hasPrefix("rtmp") == true else {
            return url.percentEncodedPath.hasPrefix("/whip/")
        }
        return !url.percentEncodedPath.hasPrefix("/\(ProgramPath.application)/")
    }

    private func secret(_ name: String) throws -> String {
        if let key { return key }
        do {
            let values = ConfigurationValues(try ConfigurationKeys.reader(file: config))
            var settings = PlaybackSettings()
            if let key = try settings.key(name, values, file: nil) { return key }
        } catch let error as StartupError {
            throw ValidationError("\(error)")
        }
        throw ValidationError("no key: pass --key, or --config with \(name) or \(name)File")
    }
}
