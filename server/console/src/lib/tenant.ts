// Tenant tokens: signed here, with the browser's own cryptography. The key never leaves the page.

export type SearchRules = Record<string, null | { filter: string }>;

const base64url = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
const utf8 = (text: string) => new TextEncoder().encode(text);

/** Browsers sign only on pages from HTTPS or this machine. */
export const canSign = () => typeof crypto !== 'undefined' && crypto.subtle !== undefined;

export async function tenantToken(key: string, uid: string, searchRules: SearchRules, expires: Date | null): Promise<string> {
  const claims = { apiKeyUid: uid, searchRules, ...(expires ? { exp: Math.floor(expires.getTime() / 1000) } : {}) };
  const text = base64url(utf8(JSON.stringify({ alg: 'HS256', typ: 'JWT' }))) + '.' + base64url(utf8(JSON.stringify(claims)));
  const secret = await crypto.subtle.importKey('raw', utf8(key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return text + '.' + base64url(new Uint8Array(await crypto.subtle.sign('HMAC', secret, utf8(text))));
}
