// Experimental features of the server.
import { Refused, request } from '../api/client';
import { bump, complain } from '../api/tasks';
import { toast } from './toasts';

/** Turns one on or off, with the way back. */
export async function setFeature(name: string, isOn: boolean) {
  await request('PATCH', '/experimental-features', { body: { [name]: isOn } });
  toast({ tone: 'good', title: `${name} is ${isOn ? 'on' : 'off'}`, undo: () => setFeature(name, !isOn).catch(complain(`${name} stays as it is`)) });
  bump();
}

/** Null where the feature is off that this needs. */
export const orOff = <T>(work: Promise<T>) => work.catch(error => {
  if (error instanceof Refused && error.code === 'feature_not_enabled') return null;
  throw error;
});
