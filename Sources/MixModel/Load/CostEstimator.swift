/// Learns what a process costs from its features: a linear model whose coefficients are a prior times a learnt factor.
///
/// A Kalman filter over the factors (recursive least squares, Haykin, Adaptive Filter Theory, §10) with the prior as its
/// beginning, so that what never varies on this machine keeps a plausible share. An observation counts for no more
/// than three standard deviations, so that a stall or a foreign load moves nothing far. Factors stay within
/// `factorRange`: no coefficient becomes negative or absurd whatever is measured.
public struct CostEstimator: Hashable, Codable, Sendable {
    /// Cores for one unit of each feature, before anything is learnt; positive.
    public let prior: [Double]
    /// What has been learnt: 1 = the prior is right.
    public private(set) var factors: [Double]
    /// Of the factors, row by row.
    private var covariance: [Double]

    public static let factorRange = 0.1...10.0
    /// Standard deviation of a factor before anything is learnt.
    private static let priorDeviation = 0.5
    /// Added to each factor's variance at an observation: machines and codecs change, slowly.
    private static let drift = 1e-5
    /// Of an observation: a share for what features do not tell (what is in the pictures), and cores for noise.
    private static let noise = (share: 0.12, cores: 0.004)
    /// In standard deviations.
    private static let mostSurprise = 3.0

    /// - Parameter prior: Cores for one unit of each feature, positive.
    public init(prior: [Double]) {
        self.prior = prior
        factors = Array(repeating: 1, count: prior.count)
        covariance = Array(repeating: 0, count: prior.count * prior.count)
        for index in prior.indices {
            covariance[index * prior.count + index] = Self.priorDeviation * Self.priorDeviation
        }
    }

    /// Cores for one unit of each feature.
    public var coefficients: [Double] { zip(prior, factors).map { $0 * $1 } }

    /// In cores. `features` has as many elements as the prior, none negative.
    public func predict(_ features: [Double]) -> Double { zip(features, coefficients).reduce(0) { $0 + $1.0 * $1.1 } }

    /// Takes one measurement, in cores; what is not finite or negative is no measurement.
    public mutating func learn(_ features: [Double], measured: Double) {
        guard features.count == prior.count, measured.isFinite, measured >= 0, features.allSatisfy(\.isFinite) else {
            return
        }
        let count = prior.count
        for index in 0..<count {
            let place = index * count + index
            covariance[place] = min(covariance[place] + Self.drift, Self.priorDeviation * Self.priorDeviation)
        }
        let weights = zip(features, prior).map { $0 * $1 }
        let expected = predict(features)
        // The covariance is symmetric.
        let spread = (0..<count).map { row in
            (0..<count).reduce(0) { $0 + covariance[row * count + $1] * weights[$1] }
        }
        let deviation = Self.noise.share * max(expected, measured / 4) + Self.noise.cores
        let variance = zip(weights, spread).reduce(0) { $0 + $1.0 * $1.1 } + deviation * deviation
        guard variance > 0 else { return }
        let limit = Self.mostSurprise * variance.squareRoot()
        let surprise = min(limit, max(-limit, measured - expected))
        for index in 0..<count {
            let factor = factors[index] + spread[index] / variance * surprise
            factors[index] = min(Self.factorRange.upperBound, max(Self.factorRange.lowerBound, factor))
        }
        for row in 0..<count {
            for column in 0..<count {
                covariance[row * count + column] -= spread[row] * spread[column] / variance
            }
            // Rounding must not make it negative.
            covariance[row * count + row] = max(covariance[row * count + row], 1e-9)
        }
    }

    /// Whether what was read from a file is usable with this prior: of the right size, and within range.
    public var isSound: Bool {
        factors.count == prior.count && covariance.count == prior.count * prior.count
            && factors.allSatisfy(Self.factorRange.contains) && covariance.allSatisfy(\.isFinite)
            && prior.indices.allSatisfy { covariance[$0 * prior.count + $0] > 0 }
    }
}
