import EventSubscription
import MixModel

/// Idle media as the API shows them. URLs are redacted.
struct IdleView: Encodable {
    var media: [String]
    var loop: Bool

    init(_ settings: IdleSettings) {
        media = settings.media.map(IdleSettings.name(of:))
        loop = settings.loop
    }
}
